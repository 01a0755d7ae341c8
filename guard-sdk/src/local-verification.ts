import { readPrincipal } from "./claims.ts";
import { fetchKeys } from "./issuer-document.ts";
import { type IssuerKeys, issuerKeys } from "./issuer-keys.ts";
import { GuardRefusal } from "./refusal.ts";
import { sha256, type VerificationKey } from "./signature.ts";
import { MAX_TOKEN_LENGTH, parseToken } from "./token.ts";
import { type Remembered, tokenCache } from "./token-cache.ts";
import type { Verification, VerificationSettings } from "./verification.ts";

/** A token that was found good, and what must still hold for it to stay so. */
export interface VerifiedToken<Note> extends Remembered {
  /** What was noted of its claims. */
  readonly note: Note;
  readonly keys: IssuerKeys;
  readonly kid: string | undefined;
  readonly key: VerificationKey;
}

/**
 * What a guard does that is given nothing else: verification in this process, against the JWK Sets of the issuers. The claims are judged
 * before the signature, so that a token which cannot be good costs neither a verification nor a look at the issuer. A remembered token stays
 * good only while its issuer still has the key that signed it.
 * @see docs/protocol.md#guard, RFC 9068 §4
 */
export const locally: Verification = (settings) => {
  const verify = verifying(settings, () => undefined);
  return { verify: async (text) => (await verify(text)).principal, close: () => undefined };
};

/** The same for who must know more of a token than its principal. @param note reads it from the claims, once for each token */
export function verifying<Note>(
  { issuers, audiences, clocks, fetch, tokenCacheSize }: VerificationSettings,
  note: (claims: Readonly<Record<string, unknown>>) => Note | Promise<Note>,
): (token: string) => Promise<VerifiedToken<Note>> {
  const keysOf = new Map(issuers.map((issuer) => [issuer, issuerKeys((known) => fetchKeys(issuer, known, fetch), clocks)]));
  const profile = { issuers: new Set(issuers), audiences };
  const cache = tokenCache<VerifiedToken<Note>>(tokenCacheSize);

  return async (text) => {
    if (text.length > MAX_TOKEN_LENGTH) throw new GuardRefusal("invalid_token", "token_too_long");
    const digest = await sha256(text);
    const known = cache.get(digest, clocks.now());
    if (known !== undefined && (await known.keys.find(known.kid)) === known.key) return known;

    const { kid, claims, input, signature } = parseToken(text);
    const principal = readPrincipal(claims, profile, clocks.now());
    const keys = keysOf.get(principal.issuer);
    if (keys === undefined) throw new GuardRefusal("invalid_token", "issuer_unknown");
    const key = await keys.find(kid);
    if (!(await key.verifies(input, signature))) throw new GuardRefusal("invalid_token", "signature_invalid");
    const verified = { principal, keys, kid, key, note: await note(claims) };
    cache.set(digest, verified);
    return verified;
  };
}
