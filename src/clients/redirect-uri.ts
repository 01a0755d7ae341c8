import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { type Client, isConfidential } from "./client.ts";

/** Schemes that browsers or operating systems handle themselves, so that no application can receive an authorization response by them. */
const HANDLED_BY_SYSTEM: ReadonlySet<string> = new Set(
  [
    // Scripts and documents
    "about blob cid content data feed file filesystem jar javascript livescript mhtml mid mocha res resource vbscript view-source",
    "wyciwyg",
    // Web and other network protocols
    "afp dav davs ftp ftps gopher http https ldap ldaps nfs nntp news rlogin sftp smb ssh svn telnet tn3270 webcal webcals ws wss",
    // Messages and calls
    "callto facetime facetime-audio im mailto mms mmsto sip sips sms smsto tel wtai xmpp",
    // The system's own programs, settings and stores
    "android-app applescript app-prefs fido geo hcp help intent itms itms-apps itms-appss itms-services maps market openid4vp",
    "otpauth prefs search search-ms shell shortcuts",
    // Browsers and their parts
    "brave chrome devtools edge firefox googlechrome googlechromes isolated-app microsoft-edge opera read vivaldi",
  ].flatMap((schemes) => schemes.split(" ")),
);

/** Families of such schemes: programs of Windows, settings of macOS, pages of browsers and their extensions. */
const FAMILIES = /^(?:ms-|x-apple|x-safari|chrome-|edge-|firefox-|moz-|microsoft-edge-)|-extension$/;

/** RFC 3986 §3.1. */
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/**
 * Whether a redirect URI has a private-use scheme that a client may use. Without a dot, a scheme is no domain name: any program can claim
 * it, so only public clients may use it. @see RFC 8252 §7.1, RFC 3986 §3.1
 */
function isPrivateUseScheme(uri: string, isPublic: boolean): boolean {
  const scheme = SCHEME.exec(uri)?.[1]?.toLowerCase();
  if (scheme === undefined || HANDLED_BY_SYSTEM.has(scheme) || FAMILIES.test(scheme)) return false;
  return isPublic || scheme.includes(".");
}

/** `http` on loopback, split as text: host, port, and all after it. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9][0-9]{0,4}))?((?:[/?][^#]*)?)$/;

/**
 * Whether a redirect URI equals a registered one, or differs only in the port of a loopback address. For the name `localhost`, the port may
 * differ only if the registered URI has none. @see OAuth 2.1 §8.4.2, RFC 9700 §4.1.3
 */
export const matchesRedirectUri = (registered: readonly string[], presented: string): boolean =>
  registered.includes(presented) || registered.some((uri) => differsInLoopbackPort(uri, presented));

function differsInLoopbackPort(registered: string, presented: string): boolean {
  const [, host, port, rest] = LOOPBACK.exec(registered) ?? [];
  const [, presentedHost, presentedPort, presentedRest] = LOOPBACK.exec(presented) ?? [];
  if (host === undefined || host !== presentedHost || rest !== presentedRest) return false;
  if (presentedPort !== undefined && Number(presentedPort) > 65_535) return false;
  return host !== "localhost" || port === undefined;
}

/** Why a redirect URI does not match that differs from a registered one only in the loopback host, or in the port of localhost. */
export function loopbackMistake(registered: readonly string[], presented: string): string | undefined {
  const [, host, port, rest] = LOOPBACK.exec(presented) ?? [];
  if (host === undefined || Number(port ?? 0) > 65_535) return undefined;
  const hosts = registered.map((uri) => LOOPBACK.exec(uri) ?? []).flatMap((parts) => (parts[3] === rest ? (parts[1] ?? []) : []));
  if (hosts.length === 0) return undefined;
  return hosts.includes(host)
    ? "for localhost the port counts if one is registered; register it without a port, or use 127.0.0.1"
    : "localhost, 127.0.0.1 and [::1] are different hosts";
}

/** Printable ASCII that may stand in a URI (RFC 3986 §2), without `#` (fragment), `*` (wildcard) and `\`. */
const PLAIN = /^[A-Za-z0-9\-._~:/?[\]@!$&'()+,;=%]+$/;
const WEB = /^(https?):\/\/([^/?:@[\]]+|\[[0-9A-Fa-f:.]+\])(?::([1-9][0-9]{0,4}))?(?:[/?].*)?$/;
/** What follows a private-use scheme: no user information. */
const PRIVATE_USE = /^[^:]+:(?:\/\/(?![^/?]*@))?[^@]*$/;

/** RFC 3986 §3.2.1. */
const USER_INFORMATION = /^[^:]+:\/\/[^/?]*@/;

/** Parameters of an authorization response, which are appended to the redirect URI (RFC 6749 §4.1.2, RFC 9207 §2). */
const RESPONSE_PARAMETERS: ReadonlySet<string> = new Set(["code", "state", "iss", "error", "error_description", "error_uri"]);

/**
 * Whether the query contains a parameter of authorization responses, which the client would receive twice. Reads names as leniently as
 * common parsers do: `;` also separates, leading spaces are cut, and `code[]` is `code`.
 */
function hasResponseParameter(uri: string): boolean {
  const [, query = ""] = uri.split(/\?(.*)/s, 2);
  return query.split(/[&;]/).some((pair) => {
    const [name = ""] = [...new URLSearchParams(pair).keys()];
    return RESPONSE_PARAMETERS.has((name.split("[", 1)[0] ?? "").trim());
  });
}

/** The members of a client that decide about its redirect URIs. `environment` is null for clients that registered themselves. */
export type RedirectingClient = Pick<Client, "environment" | "tokenEndpointAuthMethod">;

/**
 * Whether a client may have this redirect URI. Without an environment, the rules of production apply, but http on loopback is permitted.
 * @see OAuth 2.1 §2.3.1, RFC 8252 §7, docs/protocol.md#redirect-uris
 */
export const isPermittedRedirectUri = (uri: string, client: RedirectingClient): boolean =>
  isPermittedTarget(uri, client) && !(uri.includes("?") && hasResponseParameter(uri));

function isPermittedTarget(uri: string, client: RedirectingClient): boolean {
  const { environment } = client;
  if (!PLAIN.test(uri)) return false;
  const [, scheme, host, port] = WEB.exec(uri) ?? [];
  if (scheme === undefined || host === undefined) return PRIVATE_USE.test(uri) && isPrivateUseScheme(uri, !isConfidential(client));
  if (port !== undefined && Number(port) > 65_535) return false;
  const reach = reachOf(host);
  if (reach === "malformed") return false;
  if (scheme === "http") return isLoopbackName(host) && environment !== "production";
  return reach === "public" || environment === "development" || environment === "staging";
}

const LOOPBACK_TOO = "or http on localhost, 127.0.0.1 or [::1]";
/** What web addresses a client may have, by its environment. */
const PERMITTED_WEB: Readonly<Record<NonNullable<Client["environment"]> | "none", string>> = {
  development: `https, ${LOOPBACK_TOO}`,
  staging: `https, ${LOOPBACK_TOO}`,
  production: "https on a public host, as the client is in production",
  none: `https on a public host, ${LOOPBACK_TOO}`,
};

/** Why a client may not have a redirect URI, in fixed words; undefined for a permitted one. */
export function redirectUriFault(uri: string, client: RedirectingClient): string | undefined {
  if (isPermittedRedirectUri(uri, client)) return undefined;
  if (!PLAIN.test(uri) || !URL.canParse(uri)) return "is not an absolute URI without fragment and wildcard";
  if (isPermittedTarget(uri, client)) return `must not have a query parameter named ${[...RESPONSE_PARAMETERS].join(", ")}`;
  if (USER_INFORMATION.test(uri)) return "must not have user information, such as user:password@, before the host";
  if (WEB.test(uri)) return `must be ${PERMITTED_WEB[client.environment ?? "none"]}`;
  return isPermittedRedirectUri(uri, { ...client, tokenEndpointAuthMethod: "none" })
    ? "has a scheme without a dot, which only public clients may have (token_endpoint_auth_method none)"
    : "has a scheme that is not permitted for this client";
}

/** Why a list has no redirect URI that a client may have. */
export const noRedirectUri = ([first]: readonly string[], client: RedirectingClient): string =>
  first === undefined
    ? "redirect_uris is empty"
    : `redirect_uris contains no URI that is permitted: the first ${redirectUriFault(first, client)}`;

const isLoopbackName = (host: string): boolean => host === "127.0.0.1" || host === "[::1]" || host === "localhost";

/** The reach of a host. Numbers that browsers would read as an address, but that are not written as one, are malformed. */
function reachOf(host: string): "public" | "private" | "malformed" {
  if (host.startsWith("[")) {
    const address = host.slice(1, -1);
    return isIPv6(address) ? rangeOf(address) : "malformed";
  }
  if (isIPv4(host)) return rangeOf(host);
  const labels = host.toLowerCase().split(".");
  if (!labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))) return "malformed";
  const last = labels.at(-1) ?? "";
  if (/^(?:[0-9]+|0x[0-9a-f]*)$/.test(last)) return "malformed";
  return labels.length === 1 || last === "localhost" || last === "local" || last === "internal" ? "private" : "public";
}

const rangeOf = (address: string): "public" | "private" => (ipaddr.process(address).range() === "unicast" ? "public" : "private");
