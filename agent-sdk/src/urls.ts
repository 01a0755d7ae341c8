/** Whether a server at this URL can be trusted with credentials: https, or http to a host that cannot leave the machine. */
export function isTrustworthy(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return username === "" && password === "" && (protocol === "https:" || (protocol === "http:" && isLoopback(hostname)));
}

const isLoopback = (host: string) =>
  host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);

/** Two spellings of one identifier; a root may have its slash or not. Everything else is compared letter by letter. */
export const isSameIdentifier = (one: string, other: string): boolean => withoutRoot(one) === withoutRoot(other);

const withoutRoot = (text: string) => text.replace(/^(https?:\/\/[^/?#]+)\/$/, "$1");

/**
 * Whether a URL lies within a resource: the same origin, and the path of the resource or one below it, by whole segments. A resource with a
 * query covers no other query.
 * @see RFC 8707 §2
 */
export function covers(resource: string, url: string): boolean {
  const [whole, part] = [new URL(resource), new URL(url)];
  if (whole.origin !== part.origin || (whole.search !== "" && whole.search !== part.search)) return false;
  const path = whole.pathname.endsWith("/") ? whole.pathname : `${whole.pathname}/`;
  return part.pathname === whole.pathname || part.pathname.startsWith(path);
}

const RESOURCE_METADATA = "/.well-known/oauth-protected-resource";

/** Where the metadata of a resource is. @see RFC 9728 §3.1 */
export const resourceMetadataUrl = (resource: string): string => withInserted(resource, RESOURCE_METADATA);

/** The addresses of an issuer's metadata, of OAuth and of OpenID Connect. @see RFC 8414 §3.1, OIDC Discovery §4 */
export function issuerMetadataUrls(issuer: string): readonly [string, string] {
  const { origin, pathname } = new URL(issuer);
  return [
    withInserted(issuer, "/.well-known/oauth-authorization-server"),
    `${origin}${pathname.replace(/\/$/, "")}/.well-known/openid-configuration`,
  ];
}

function withInserted(text: string, part: string): string {
  const { origin, pathname, search } = new URL(text);
  return `${origin}${part}${pathname === "/" ? "" : pathname}${search}`;
}
