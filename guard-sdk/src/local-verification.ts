import { readPrincipal } from "./claims.ts";
import { fetchKeys } from "./issuer-document.ts";
import { issuerKeys } from "./issuer-keys.ts";
import type { Principal } from "./principal.ts";
import { GuardRefusal } from "./refusal.ts";
import { tokenDigest } from "./signature.ts";
import type { Clocks } from "./time.ts";
import { MAX_TOKEN_LENGTH, parseToken } from "./token.ts";
import { tokenCache } from "./token-cache.ts";

/** Says whose token this is. @throws {GuardRefusal} invalid_token, temporarily_unavailable */
export type VerifyToken = (token: string) => Promise<Principal>;

export interface LocalVerification {
  readonly issuers: readonly string[];
  readonly audiences: ReadonlySet<string>;
  readonly clocks: Clocks;
  readonly fetch: typeof globalThis.fetch;
  readonly tokenCacheSize: number;
}

/**
 * Verification in this process, against the JWK Sets of the issuers. The claims are judged before the signature, so that
 * a token which cannot be good costs neither a verification nor a look at the issuer. A remembered token stays good only
 * while its issuer still has the key that signed it.
 * @see specification §4.9, RFC 9068 §4
 */
export function localVerification({ issuers, audiences, clocks, fetch, tokenCacheSize }: LocalVerification): VerifyToken {
  const keysOf = new Map(issuers.map((issuer) => [issuer, issuerKeys((known) => fetchKeys(issuer, known, fetch), clocks.elapsed)]));
  const profile = { issuers: new Set(issuers), audiences };
  const cache = tokenCache(tokenCacheSize);

  return async (text) => {
    if (text.length > MAX_TOKEN_LENGTH) throw new GuardRefusal("invalid_token", "token_too_long");
    const digest = await tokenDigest(text);
    const known = cache.get(digest, clocks.now());
    if (known !== undefined && (await known.keys.find(known.kid)) === known.key) return known.principal;

    const { kid, claims, input, signature } = parseToken(text);
    const principal = readPrincipal(claims, profile, clocks.now());
    const keys = keysOf.get(principal.issuer);
    if (keys === undefined) throw new GuardRefusal("invalid_token", "issuer_unknown");
    const key = await keys.find(kid);
    if (!(await key.verifies(input, signature))) throw new GuardRefusal("invalid_token", "signature_invalid");
    cache.set(digest, { principal, keys, kid, key });
    return principal;
  };
}
