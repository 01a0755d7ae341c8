/** Scheme, then anything but spaces, controls and a fragment: an absolute URI as RFC 8707 §2 wants it. */
const ABSOLUTE_URI = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s#\p{Cc}]+$/u;

/** How many `resource` values one request may carry. */
export const MAX_RESOURCES = 10;

/** A web URI without a host, which URL parsers mend instead of refusing it (RFC 9110 §4.2.2). */
const WITHOUT_HOST = /^https?:(?!\/\/[^/\\?])/i;

/** Whether a text has the form of an absolute URI without fragment. */
export const isAbsoluteUri = (text: string): boolean => ABSOLUTE_URI.test(text) && !WITHOUT_HOST.test(text) && URL.canParse(text);

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

/**
 * Whether a text is the URI of something on the web that tokens can be sent to: https anywhere, http on a loopback host.
 */
export function isWebResource(text: string): boolean {
  if (!isAbsoluteUri(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

/** The client itself, as a place where scopes hold: that is where they hold without a resource. */
const CLIENT_ITSELF = "";

/** Scopes by the place where they hold: at each of the resources, or without any at the client itself. */
export const scopesByPlace = (scopes: readonly string[], resources: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries((resources.length === 0 ? [CLIENT_ITSELF] : resources).map((place) => [place, scopes]));

export const isLoopbackHost = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
