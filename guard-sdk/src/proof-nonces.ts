import { base64url } from "jose";
import { GuardRefusal } from "./refusal.ts";

/** Seconds after which a new nonce is given out. Each is accepted for this period and the next. */
const PERIOD = 150;

/**
 * Judges the nonce of a proof.
 * @param now whole seconds since the epoch
 * @returns the nonce for later proofs, if it replaces this one
 * @throws {GuardRefusal} use_dpop_nonce, with a nonce
 */
export type JudgeNonce = (nonce: unknown, now: number) => Promise<string | undefined>;

/**
 * Nonces that are stored nowhere: they are derived from the time, so that all processes with the secret accept each other's.
 * @param secret true for one that this process makes and keeps
 * @see RFC 9449 §9
 */
export function nonceJudge(secret: string | true): JudgeNonce {
  const encoder = new TextEncoder();
  // Made with the first proof: workers at the edge have no random bytes while a module loads.
  let key: Promise<CryptoKey> | undefined;
  const newKey = () => {
    const bytes = secret === true ? crypto.getRandomValues(new Uint8Array(32)) : encoder.encode(secret);
    return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  };
  const nonces = new Map<number, string>();
  const nonceOf = async (period: number): Promise<string> => {
    const known = nonces.get(period);
    if (known !== undefined) return known;
    key ??= newKey();
    const nonce = base64url.encode(new Uint8Array(await crypto.subtle.sign("HMAC", await key, encoder.encode(`DPoP nonce ${period}`))));
    nonces.set(period, nonce);
    for (const earlier of nonces.keys()) if (earlier < period - 1) nonces.delete(earlier);
    return nonce;
  };
  return async (nonce, now) => {
    const period = Math.floor(now / PERIOD);
    const current = await nonceOf(period);
    if (nonce === current) return undefined;
    if (nonce === (await nonceOf(period - 1))) return current;
    throw new GuardRefusal("use_dpop_nonce", "proof_nonce_differs", { dpopNonce: current });
  };
}
