import { locally } from "./local-verification.ts";
import { assertKind, having, needed, VERIFICATION } from "./option-table.ts";
import type { PqcVerifier } from "./pqc-verifier.ts";
import type { Principal } from "./principal.ts";
import { GuardRefusal } from "./refusal.ts";
import { sha256 } from "./signature.ts";
import { tokenCache } from "./token-cache.ts";
import type { Verification } from "./verification.ts";

/** Made by createPqcVerifier. One of another make that has no `hasKeyOf` vouches for a token once. */
type HybridCheck = Pick<PqcVerifier, "assertHybrid"> & Partial<Pick<PqcVerifier, "hasKeyOf">>;

/**
 * Verification that requires both signatures of a token to be valid. A token with one signature, or whose second cannot be checked, is
 * refused. The second signature is verified once for each token, also for concurrent requests, and remembered as long as the guard remembers
 * tokens and the issuer has the key.
 * @param way judges everything but the second signature. Default: in this process, against the JWK Sets of the issuers
 * @throws {TypeError} when it is given something else
 * @see docs/protocol.md#hybrid-signing
 */
export function requireHybrid(pqc: HybridCheck, way: Verification = locally): Verification {
  assertKind("the first argument of requireHybrid", pqc, needed(having("assertHybrid")));
  assertKind("the second argument of requireHybrid", way, VERIFICATION);
  return (settings) => {
    const { verify, close } = way(settings);
    const passed = tokenCache(settings.tokenCacheSize);
    /** Checks without a verdict, by the digest of the token. */
    const running = new Map<string, Promise<void>>();

    async function passing(token: string, digest: string, principal: Principal): Promise<void> {
      await pqc.assertHybrid(token);
      passed.set(digest, { principal });
    }

    return {
      async verify(token) {
        const principal = await verify(token);
        const digest = await sha256(token);
        if (passed.get(digest, settings.clocks.now()) === undefined) {
          const check = running.get(digest) ?? passing(token, digest, principal).finally(() => running.delete(digest));
          running.set(digest, check);
          await check;
        } else if ((await pqc.hasKeyOf?.(token)) === false) throw new GuardRefusal("invalid_token", "pqc_key_unknown");
        return principal;
      },
      close,
    };
  };
}
