import { Refusal } from "../errors.ts";

/** Visible ASCII without `"` and `\` (RFC 6749 §3.3). */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;
const SCOPE_TOKENS = /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/;

export const isScopeToken = (text: string): boolean => SCOPE_TOKEN.test(text);

/** The scope parameter as a list without repeats, in the order sent. @throws {Refusal} invalid_scope @see RFC 6749 §3.3 */
export function parseScope(scope = ""): readonly string[] {
  const names = scope.match(/[^ ]+/g) ?? [];
  if (!SCOPE_TOKENS.test(scope) || (names.length === 0 && scope !== ""))
    throw new Refusal("invalid_scope", "scope_malformed", {
      description: "scope must be names of visible ASCII characters without quote and backslash, separated by spaces.",
    });
  return [...new Set(names)];
}

/** An absolute URI without spaces, controls and fragment (RFC 8707 §2). */
const ABSOLUTE_URI = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s#\p{Cc}]+$/u;

export const MAX_RESOURCES = 10;

/** A web URI without a host, which URL parsers correct instead of refusing it (RFC 9110 §4.2.2). */
const WITHOUT_HOST = /^https?:(?!\/\/[^/\\?])/i;

/** Whether a text has the form of an absolute URI without fragment. */
export const isAbsoluteUri = (text: string): boolean => ABSOLUTE_URI.test(text) && !WITHOUT_HOST.test(text) && URL.canParse(text);

/** A web URI that ends with its host. */
const WITHOUT_PATH = /^https?:\/\/[^/\\?#]+$/i;

/** Whether two texts are equal, apart from the root path that URI parsers add to a web URI without a path. @see RFC 3986 §6.2.3 */
export const sameResource = (one: string, other: string): boolean =>
  one === other || (other === `${one}/` && WITHOUT_PATH.test(one)) || (one === `${other}/` && WITHOUT_PATH.test(other));

/** The texts that sameResource takes for this one, itself included. */
export const spellingsOf = (resource: string): readonly string[] =>
  [resource, `${resource}/`, resource.replace(/\/$/, "")].filter(
    (each, index, all) => all.indexOf(each) === index && sameResource(each, resource),
  );

/** A web URI as URI parsers write it: scheme and host in lower case, without the default port. Any other text, and one that differs in the root path alone, as it is. */
export function parsedSpelling(text: string): string {
  const parsed = isAbsoluteUri(text) && /^https?:/i.test(text) ? new URL(text).href : text;
  return sameResource(parsed, text) ? text : parsed;
}

const WEB: ReadonlySet<string> = new Set(["https:", "http:"]);
/** Schemes of programs and documents, which tokens cannot be for. */
const CONTENT: ReadonlySet<string> = new Set(["javascript:", "vbscript:", "data:", "blob:"]);

/** Whether an authorization request may name a URI as a resource: absolute, without fragment, not insecure. @see RFC 8707 §2 */
export const isResourceUri = (text: string): boolean => {
  if (!isAbsoluteUri(text)) return false;
  const { protocol } = new URL(text);
  return WEB.has(protocol) ? isWebResource(text) : !CONTENT.has(protocol);
};

/** Whether a text is a web URI to which tokens can be sent: https anywhere, http on a loopback host. */
export function isWebResource(text: string): boolean {
  if (!isAbsoluteUri(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

export const isLoopbackHost = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
