/**
 * Refuses a URL that compares unequal to what others make of it: identifiers are compared letter by letter, with what clients and issuers
 * write, and those who use a URL class write what it makes of them. A root may stand with or without its slash.
 * @param what names the option
 * @param parts that the identifier must not have
 * @throws {TypeError} that says how to write it; user info, which may be a password, is in no message
 * @see RFC 3986 §6.2, RFC 8414 §2, RFC 9728 §1.2
 */
export function assertWritten(what: string, text: string, parts: readonly ("search" | "hash")[]): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["https:", "http:"].includes(url.protocol)) throw new TypeError(`${what} must be an absolute http(s) URL`);
  url.username = "";
  url.password = "";
  for (const part of parts) url[part] = "";
  if (url.search === "") url.search = ""; // takes a question mark that nothing follows
  const isRoot = url.pathname === "/" && url.search === "";
  const proper = isRoot ? url.href.slice(0, -1) : url.href;
  if (text !== proper && !(isRoot && text === url.href)) throw new TypeError(`${what} must be written ${JSON.stringify(proper)}`);
}
