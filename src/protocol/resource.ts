/** Scheme, then anything but spaces, controls and a fragment: an absolute URI as RFC 8707 §2 wants it. */
const ABSOLUTE_URI = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s#\p{Cc}]+$/u;

/** How many `resource` values one request may carry. */
export const MAX_RESOURCES = 10;

/** A web URI without a host, which URL parsers mend instead of refusing it (RFC 9110 §4.2.2). */
const WITHOUT_HOST = /^https?:(?!\/\/[^/\\?])/i;

/** Whether a text has the form of an absolute URI without fragment. */
export const isAbsoluteUri = (text: string): boolean => ABSOLUTE_URI.test(text) && !WITHOUT_HOST.test(text) && URL.canParse(text);

/** A web URI that ends with its host. */
const WITHOUT_PATH = /^https?:\/\/[^/\\?#]+$/i;

/**
 * Whether two texts name one resource: the same text, or a web URI without a path and the same with the root path, since clients that hand a
 * URI through a parser send the latter. Nothing else is folded.
 * @see RFC 3986 §6.2.3
 */
export const sameResource = (one: string, other: string): boolean =>
  one === other || (other === `${one}/` && WITHOUT_PATH.test(one)) || (one === `${other}/` && WITHOUT_PATH.test(other));

const WEB: ReadonlySet<string> = new Set(["https:", "http:"]);
/** These are programs and documents, and name nothing that tokens could be for. */
const CONTENT: ReadonlySet<string> = new Set(["javascript:", "vbscript:", "data:", "blob:"]);

/**
 * Whether an authorization request may name a resource by this text, unless it is a client_id: an absolute URI without fragment, a web
 * URI only where a token can be sent to it in safety.
 * @see RFC 8707 §2
 */
export const isResourceUri = (text: string): boolean => {
  if (!isAbsoluteUri(text)) return false;
  const { protocol } = new URL(text);
  return WEB.has(protocol) ? isWebResource(text) : !CONTENT.has(protocol);
};

/** Whether a text is the URI of something on the web that tokens can be sent to: https anywhere, http on a loopback host. */
export function isWebResource(text: string): boolean {
  if (!isAbsoluteUri(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

export const isLoopbackHost = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
