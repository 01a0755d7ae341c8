import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { Refusal } from "../../errors.ts";
import { mldsaPkcs8, mldsaPublicPem, readMldsaPrivate } from "../../ml-dsa-key.ts";
import { type AkpJwk, akpJwk } from "./keys.ts";

/** An ML-DSA-65 key that signs. Its private half stays in the closure. */
export interface MldsaKey {
  readonly jwk: AkpJwk;
  /** Signs the ASCII bytes of a signing input: pure ML-DSA, empty context, hedged (RFC 9964 §3, FIPS 204 §5.2). Never refuses. */
  sign(input: string): Promise<Uint8Array>;
  /**
   * Asked before anything is consumed for the sake of a signature.
   * @throws {Refusal} temporarily_unavailable while more wait than can be signed within the deadline of their calls
   */
  assertOpen(): void;
}

/** How signatures are made: so many at a time, each off the main thread or in a turn of the event loop of its own. */
interface Engine {
  readonly publicKey: Uint8Array;
  readonly lanes: number;
  sign(input: Uint8Array): Promise<Uint8Array>;
}

/** A core call has 3 s; a hundred signatures take a tenth of a second natively and about one otherwise. */
const MAX_WAITING = 100;

const signInPool = promisify<null, Uint8Array, KeyObject, Buffer>(sign);

/** By Node's own crypto, in its thread pool. Undefined where the OpenSSL under Node has no ML-DSA. */
function nativeEngine(seed: Uint8Array): Engine | undefined {
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: mldsaPkcs8(seed), format: "der", type: "pkcs8" });
  } catch {
    return undefined; // the form is ours, so that only the algorithm can be what is not known
  }
  const { pub } = createPublicKey(key).export({ format: "jwk" }) as { pub?: string };
  if (pub === undefined) return undefined;
  // One core is left to the event loop, and two threads of the pool to passwords and names.
  const lanes = Math.max(1, Math.min(2, availableParallelism() - 1));
  return { publicKey: Buffer.from(pub, "base64url"), lanes, sign: (input) => signInPool(null, input, key) };
}

/** By portable code on this thread: one signature (about 8 ms) a turn, everything else in between. */
async function portableEngine(seed: Uint8Array): Promise<Engine> {
  const { ml_dsa65 } = await import("@noble/post-quantum/ml-dsa.js");
  const { publicKey, secretKey } = ml_dsa65.keygen(seed);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    publicKey,
    lanes: 1,
    async sign(input) {
      await turn();
      return ml_dsa65.sign(input, secretKey);
    },
  };
}

/** A key over an engine: its lanes are kept, in the order of asking. */
function keyOver(engine: Engine): MldsaKey {
  const waiting: (() => void)[] = [];
  let running = 0;
  /** A free worker goes to the longest waiter before a new caller can take it. */
  const release = (): void => {
    const first = waiting.shift();
    if (first === undefined) running--;
    else first();
  };
  return {
    jwk: akpJwk(engine.publicKey),
    async sign(input) {
      if (running >= engine.lanes) await new Promise<void>((resolve) => waiting.push(resolve));
      else running++;
      try {
        return await engine.sign(Buffer.from(input, "ascii"));
      } finally {
        release();
      }
    },
    assertOpen() {
      if (waiting.length >= MAX_WAITING) throw new Refusal("temporarily_unavailable", "pqc_signing_queue_full", { retryAfter: 1 });
    },
  };
}

/**
 * Opens an ML-DSA-65 key, natively where the runtime can.
 * @param seed 32 bytes
 * @param portable never natively; for the tests that hold the two against each other
 */
export const openMldsaKey = async (seed: Uint8Array, portable = false): Promise<MldsaKey> =>
  keyOver((portable ? undefined : nativeEngine(seed)) ?? (await portableEngine(seed)));

/**
 * The public half of a private key's text, as SPKI PEM: what JWT_RETIRED_PUBLIC_KEYS takes later on.
 * @throws {Error} for a text that is no ML-DSA-65 private key with its seed
 */
export async function mldsaPublicHalf(text: string): Promise<string> {
  const held = readMldsaPrivate(text);
  if (held === undefined) throw new Error("no ML-DSA-65 private key with its seed");
  return mldsaPublicPem(Buffer.from((await openMldsaKey(held.seed)).jwk.pub, "base64url"));
}
