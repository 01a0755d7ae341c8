import { sign } from "node:crypto";
import type { SigningAlgorithm, SigningKey } from "./keys.ts";

/** Signs a signing input; answers the signature. */
export type Sign = (input: string, key: SigningKey) => Promise<Buffer>;

interface Waiting {
  readonly input: string;
  readonly key: SigningKey;
  readonly resolve: (signature: Buffer) => void;
  readonly reject: (error: unknown) => void;
}

const DIGESTS: Record<SigningAlgorithm, string | null> = { EdDSA: null, RS256: "RSA-SHA256" };

/** One signature now, on this thread. Ed25519 is deterministic: the same input always has the same one. */
export const signNow = (input: string, key: SigningKey): Buffer => sign(DIGESTS[key.jwk.alg], Buffer.from(input), key.privateKey);

/**
 * A signer that collects what one turn of the event loop asks for and signs it at the turn's end, all together:
 * the HTTP work of the turn then stays in the processor's cache, which costs less than signing in between.
 */
export function createSigner(): Sign {
  let waiting: Waiting[] = [];

  const flush = (): void => {
    const batch = waiting;
    waiting = [];
    for (const { input, key, resolve, reject } of batch) {
      try {
        resolve(signNow(input, key));
      } catch (error) {
        reject(error);
      }
    }
  };

  return (input, key) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ input, key, resolve, reject }) === 1) setImmediate(flush);
    });
}
