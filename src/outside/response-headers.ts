type Header = string | string[] | undefined;
export type Headers = Readonly<Record<string, Header>>;

/** Whether a type is `application/json` or has the suffix `+json` (RFC 6839 §3.1), parameters aside. */
export const isJson = (contentType: Header): boolean =>
  typeof contentType === "string" && /^application\/(?:json|[a-z0-9!#$&^_.-]+\+json)[ \t]*(?:;|$)/i.test(contentType);

/** Whether a response has this type, parameters aside. */
export const isMediaType = (contentType: Header, type: string): boolean =>
  typeof contentType === "string" && contentType.split(";", 1)[0]?.trim().toLowerCase() === type;

const single = (header: Header): string | undefined => (typeof header === "string" ? header : header?.join(", "));
const seconds = (text: string | undefined): number | undefined => (text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined);

/** Seconds for which a response is fresh; undefined if it does not say, 0 if it must not be cached. @see RFC 9111 §4.2.1, §5.2.2 */
export function freshness(headers: Headers): number | undefined {
  const directives = new Map(
    (single(headers["cache-control"]) ?? "")
      .toLowerCase()
      .split(",")
      .map((directive) => directive.trim().split("=", 2) as [string, string?])
      .map(([name, value]) => [name, value?.replaceAll('"', "")] as const),
  );
  if (directives.has("no-store") || directives.has("no-cache")) return 0;
  const age = seconds(single(headers.age)) ?? 0;
  const maxAge = seconds(directives.get("max-age"));
  if (maxAge !== undefined) return Math.max(0, maxAge - age);
  const expires = single(headers.expires);
  const date = Date.parse(single(headers.date) ?? "");
  if (expires === undefined || Number.isNaN(date)) return undefined;
  const until = Date.parse(expires);
  return Number.isNaN(until) ? 0 : Math.max(0, Math.floor((until - date) / 1000) - age);
}
