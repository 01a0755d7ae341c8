import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import Negotiator from "negotiator";
import type { Caller } from "../../accounts/caller.ts";
import { limitKey } from "../../protocol/limit-key.ts";
import { DEFAULT_LANGUAGE, LANGUAGES, type Language, TEXTS } from "../../texts/languages.ts";
import { type Cookies, cookieValues } from "./cookies.ts";
import type { FrontContext } from "./routes.ts";

/** The client's address, behind a trusted proxy as `forwardedAddress` says. */
export function clientAddress(req: IncomingMessage, trustProxy: boolean): string {
  const peer = unmapped(req.socket.remoteAddress ?? "");
  return trustProxy ? forwardedAddress(peer, req.headers["x-forwarded-for"]) : peer;
}

/**
 * The last address of X-Forwarded-For: a trusted proxy adds it, so a client cannot choose it.
 * @param peer address of the connection, which counts where the header has none
 */
export function forwardedAddress(peer: string, forwarded: string | readonly string[] | undefined): string {
  const list = typeof forwarded === "string" ? forwarded : (forwarded ?? []).join(",");
  const last = unmapped(withoutPort(list.slice(list.lastIndexOf(",") + 1).trim()));
  return isIP(last) === 0 ? peer : last;
}

/** Some proxies add the port, and write IPv6 addresses in brackets (RFC 7239 §6). */
const withoutPort = (node: string): string => {
  const [, ipv6, ipv4] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(node) ?? [];
  return ipv6 ?? ipv4 ?? node;
};

const unmapped = (address: string): string => (address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address);

/** Request headers in which a proxy describes its caller (RFC 7239, and the older ones). */
const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"] as const;

/** Whether a request came through a proxy, or claims so. */
export function hasForwardedHeaders({ headers }: IncomingMessage): boolean {
  for (const name of FORWARDED) if (headers[name] !== undefined) return true;
  return false;
}

export const callerOf = (ctx: FrontContext): Caller => ({
  address: ctx.state.address,
  limitKey: limitKey(ctx.state.address),
  requestId: ctx.state.requestId,
  userAgent: ctx.req.headers["user-agent"] ?? "",
  language: languageOf(ctx),
});

/** Characters of a header or parameter that are read: thousands of languages would take long to parse. */
const MAX_ACCEPTED = 500;

/** The language that the user chose on a page, for a year. It is no secret and decides nothing, so it has no prefix. */
const CHOSEN = { name: "countersign-language", ttl: 31_536_000 } as const;
/** The language that an application asked for with `ui_locales`, for as long as a request waits for a mail. */
const REQUESTED = { name: "countersign-ui-locales", ttl: 3600 } as const;

/** The member of a page's query by which a user chooses a language. */
export const LANGUAGE_MEMBER = "lang";

const languageNamed = (name = ""): Language | undefined => (Object.hasOwn(TEXTS, name) ? (name as Language) : undefined);

/**
 * The language of a page or mail: the one that the user chose, else the one that the application asked for, else the one that the browser
 * prefers. @see RFC 9110 §12.5.4, OpenID Connect Core §3.1.2.1 (ui_locales)
 */
export function languageOf({ req }: Pick<FrontContext, "req">): Language {
  const { cookie, "accept-language": accepted } = req.headers;
  for (const value of [...cookieValues(cookie, CHOSEN.name), ...cookieValues(cookie, REQUESTED.name)]) {
    const remembered = languageNamed(value);
    if (remembered !== undefined) return remembered;
  }
  const preferred = new Negotiator({ headers: { "accept-language": accepted?.slice(0, MAX_ACCEPTED) } }).language([...LANGUAGES]);
  return languageNamed(preferred) ?? DEFAULT_LANGUAGE;
}

/** The best language of a `ui_locales` parameter: BCP 47 tags separated by spaces, the preferred one first. Pure. */
export function requestedLanguage(uiLocales: string): Language | undefined {
  const tags = uiLocales.slice(0, MAX_ACCEPTED).toLowerCase().split(" ");
  return tags.map((tag) => languageNamed(tag.split("-", 1)[0])).find((language) => language !== undefined);
}

/** Remembers the language that an application asks for, while its request waits. An unknown one changes nothing. */
export function rememberRequested(ctx: FrontContext, uiLocales: string, cookies: Cookies): void {
  const language = requestedLanguage(uiLocales);
  if (language !== undefined) cookies.write(ctx, REQUESTED.name, language, REQUESTED.ttl);
}

/** Remembers the language that the user chose. @returns whether there is such a language */
export function rememberChosen(ctx: FrontContext, name: string, cookies: Cookies): boolean {
  const language = languageNamed(name);
  if (language !== undefined) cookies.write(ctx, CHOSEN.name, language, CHOSEN.ttl);
  return language !== undefined;
}
