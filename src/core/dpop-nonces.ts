import { createHmac } from "node:crypto";
import { Refusal } from "../errors.ts";
import type { Keys } from "./signing/key-ring.ts";
import type { SigningKey } from "./signing/keys.ts";
import { derivedSecret } from "./signing/successor.ts";

/** Seconds after which a new nonce is given out. Each is accepted for this period and the next. */
const PERIOD = 150;

/** Nonces that proofs must contain. @see RFC 9449 §8 */
export interface ProofNonces {
  /**
   * @param now seconds since the epoch
   * @returns the nonce for later proofs, if another one replaces this one soon
   * @throws {Refusal} use_dpop_nonce, with a nonce, for any other value
   */
  assertFresh(nonce: unknown, now: number): string | undefined;
}

/** Nothing is stored: every core with one of the signing keys derives the same nonces from the time. */
export function proofNonces(keys: Pick<Keys, "own" | "signing">): ProofNonces {
  const valid = (period: number): readonly string[] => keys.own.map((key) => nonceOf(key, period));
  return {
    assertFresh(nonce, now) {
      const period = Math.floor(now / PERIOD);
      if (valid(period).some((one) => one === nonce)) return undefined;
      const next = nonceOf(keys.signing().accessToken, period);
      if (valid(period - 1).some((one) => one === nonce)) return next;
      throw new Refusal("use_dpop_nonce", "dpop_nonce_differs", {
        description: "Send a DPoP proof with the nonce of the DPoP-Nonce header.",
        dpopNonce: next,
      });
    },
  };
}

/** Secrets, and the nonces of the last periods, by key. */
const derived = new WeakMap<SigningKey, { readonly secret: Buffer; readonly nonces: Map<number, string> }>();

function nonceOf(key: SigningKey, period: number): string {
  const known = derived.get(key) ?? { secret: derivedSecret(key, "DPoP nonce"), nonces: new Map<number, string>() };
  derived.set(key, known);
  const nonce = known.nonces.get(period) ?? createHmac("sha256", known.secret).update(String(period)).digest("base64url");
  known.nonces.set(period, nonce);
  for (const earlier of known.nonces.keys()) if (earlier < period - 1) known.nonces.delete(earlier);
  return nonce;
}
