import { readPrincipal } from "./claims.ts";
import { fetchKeys } from "./issuer-document.ts";
import { type IssuerKeys, issuerKeys } from "./issuer-keys.ts";
import { GuardRefusal } from "./refusal.ts";
import { tokenDigest, type VerificationKey } from "./signature.ts";
import { MAX_TOKEN_LENGTH, parseToken } from "./token.ts";
import { type Remembered, tokenCache } from "./token-cache.ts";
import type { VerificationSettings, VerifyToken } from "./verification.ts";

/** A token that was found good, and what must still hold for it to stay so. */
interface VerifiedToken extends Remembered {
  readonly keys: IssuerKeys;
  readonly kid: string | undefined;
  readonly key: VerificationKey;
}

/**
 * Verification in this process, against the JWK Sets of the issuers. The claims are judged before the signature, so that
 * a token which cannot be good costs neither a verification nor a look at the issuer. A remembered token stays good only
 * while its issuer still has the key that signed it.
 * @see specification §4.9, RFC 9068 §4
 */
export function localVerification({ issuers, audiences, clocks, fetch, tokenCacheSize }: VerificationSettings): VerifyToken {
  const keysOf = new Map(issuers.map((issuer) => [issuer, issuerKeys((known) => fetchKeys(issuer, known, fetch), clocks.elapsed)]));
  const profile = { issuers: new Set(issuers), audiences };
  const cache = tokenCache<VerifiedToken>(tokenCacheSize);

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
