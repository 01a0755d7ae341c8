import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import type { Environment } from "./client.ts";

/** `http` on loopback, split as text: host, port, and all after it. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9][0-9]{0,4}))?((?:[/?][^#]*)?)$/;

/**
 * Whether a redirect URI that was sent is one of those registered: equal as a string, or differing only in the port of a loopback address.
 * For the name `localhost` the port is free only where the registered URI has none. Nothing is normalised.
 * @see OAuth 2.1 §8.4.2, RFC 9700 §4.1.3
 */
export const matchesRedirectUri = (registered: readonly string[], presented: string): boolean =>
  registered.some((uri) => uri === presented || differsInLoopbackPort(uri, presented));

function differsInLoopbackPort(registered: string, presented: string): boolean {
  const [, host, port, rest] = LOOPBACK.exec(registered) ?? [];
  const [, presentedHost, presentedPort, presentedRest] = LOOPBACK.exec(presented) ?? [];
  if (host === undefined || host !== presentedHost || rest !== presentedRest) return false;
  if (presentedPort !== undefined && Number(presentedPort) > 65_535) return false;
  return host !== "localhost" || port === undefined;
}

/** Printable ASCII that may stand in a URI (RFC 3986 §2), without `#` (fragment), `*` (wildcard) and `\`. */
const PLAIN = /^[A-Za-z0-9\-._~:/?[\]@!$&'()+,;=%]+$/;
const WEB = /^(https?):\/\/([^/?:@[\]]+|\[[0-9A-Fa-f:.]+\])(?::([1-9][0-9]{0,4}))?(?:[/?].*)?$/;
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:(?:\/\/(?![^/?]*@))?[^@]*$/;

/**
 * Whether a client of an environment may have this redirect URI. `null` is a client that registered itself: judged as production, but for
 * loopback over http, which native clients need.
 * @see OAuth 2.1 §2.3.1, RFC 8252 §7, specification §4.6
 */
export function isPermittedRedirectUri(uri: string, environment: Environment | null): boolean {
  if (!PLAIN.test(uri)) return false;
  const [, scheme, host, port] = WEB.exec(uri) ?? [];
  if (scheme === undefined || host === undefined) return !uri.startsWith("http") && PRIVATE_USE.test(uri);
  if (port !== undefined && Number(port) > 65_535) return false;
  const reach = reachOf(host);
  if (reach === "malformed") return false;
  if (scheme === "http") return isLoopbackName(host) && environment !== "production";
  return reach === "public" || environment === "development" || environment === "staging";
}

/** What is wrong with a redirect URI of a client of an environment, in fixed words; undefined for a good one. */
export function redirectUriFault(uri: string, environment: Environment | null): string | undefined {
  if (isPermittedRedirectUri(uri, environment)) return undefined;
  const isUri = PLAIN.test(uri) && URL.canParse(uri);
  return isUri ? "is not permitted in the client's environment" : "is not an absolute URI without fragment and wildcard";
}

const isLoopbackName = (host: string): boolean => host === "127.0.0.1" || host === "[::1]" || host === "localhost";

/** How far away a host can be. Numbers that browsers would read as an address but that are not written as one are malformed. */
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
