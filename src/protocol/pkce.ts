import { hash, timingSafeEqual } from "node:crypto";

/** RFC 7636 §4.1. */
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;
/** SHA-256 as base64url has exactly 43 characters (RFC 7636 §4.2). */
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export const isCodeVerifier = (text: string): boolean => CODE_VERIFIER.test(text);
export const isCodeChallenge = (text: string): boolean => CODE_CHALLENGE.test(text);

/** RFC 7636 §4.6 for S256. */
export function verifierMatches(codeVerifier: string, codeChallenge: string): boolean {
  const computed = Buffer.from(hash("sha256", codeVerifier, "base64url"));
  const expected = Buffer.from(codeChallenge);
  return computed.length === expected.length && timingSafeEqual(computed, expected);
}
