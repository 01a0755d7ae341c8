/** The JSON of one part of a JWT (RFC 7519 §3), not verified. @throws {Error} for a part that is none */
export const jwtPart = (part: string): unknown =>
  JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (byte) => byte.charCodeAt(0))));
