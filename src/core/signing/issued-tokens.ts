import { hash, timingSafeEqual, verify } from "node:crypto";
import { LRUCache } from "lru-cache";
import { headerSegment, type ParsedJwt, parseJwt, signNow, type TokenType } from "./jws.ts";
import type { Keys } from "./key-ring.ts";
import type { SigningKey } from "./keys.ts";
import type { MldsaKey } from "./ml-dsa.ts";

/** Claims of a token of one type that this issuer signed. Callers check its times and state. */
export type VerifiedClaims = Readonly<Record<string, unknown>>;
export type IssuedTokens = ReturnType<typeof issuedTokens>;

const REMEMBERED_TOKENS = 10_000;

/**
 * Verifies tokens of this issuer. Remembers verified signatures by the hash of the token, but never whether a token is still valid.
 * @see RFC 8725 §3, RFC 9068 §4
 */
export function issuedTokens(issuer: string, keys: Keys) {
  const remembered = new LRUCache<string, VerifiedClaims>({ max: REMEMBERED_TOKENS });

  const keyOf = (token: string, type: TokenType): string => `${type} ${hash("sha256", token, "base64")}`;
  return {
    /** The same for a token whose signature was verified before. Never verifies a signature. */
    remembered: (token: string, type: TokenType): VerifiedClaims | undefined => remembered.get(keyOf(token, type)),
    /** The claims of a token that this issuer signed, expired or not; undefined for everything else. */
    verify(token: string, type: TokenType): VerifiedClaims | undefined {
      const key = keyOf(token, type);
      const known = remembered.get(key);
      if (known !== undefined) return known;
      const parsed = parseJwt(token);
      if (parsed === undefined || parsed.claims.iss !== issuer || !signatureHolds(parsed, type, keys)) return undefined;
      remembered.set(key, parsed.claims);
      return parsed.claims;
    },
  };
}

/** Whether the header is exactly what this issuer writes, so that no member has to be checked. */
const isOurHeader = (parsed: ParsedJwt, type: TokenType, own: SigningKey, second: MldsaKey | undefined): boolean =>
  parsed.headerSegment === headerSegment(own, type) || (second !== undefined && parsed.headerSegment === headerSegment(own, type, second));

function signatureHolds(parsed: ParsedJwt, type: TokenType, keys: Keys): boolean {
  const { alg, typ, kid } = parsed.header;
  const own = keys.own.find(({ jwk }) => jwk.alg === "EdDSA" && jwk.kid === kid);
  const second = type === "at+jwt" ? keys.hybrid : undefined;
  if (own !== undefined && isOurHeader(parsed, type, own, second)) {
    // Ed25519 is deterministic: signing again and comparing costs a third of a verification.
    const expected = signNow(parsed.signingInput, own);
    return expected.length === parsed.signature.length && timingSafeEqual(expected, parsed.signature);
  }
  const key = typeof kid === "string" ? keys.byId(kid) : undefined;
  // Only ID tokens may be RS256.
  if (key === undefined || typ !== type || alg !== key.jwk.alg || (type !== "JWT" && alg !== "EdDSA")) return false;
  return verify(alg === "RS256" ? "RSA-SHA256" : null, Buffer.from(parsed.signingInput), key.publicKey, parsed.signature);
}
