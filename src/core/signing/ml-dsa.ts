import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { concurrencyLimit } from "../../concurrency-limit.ts";
import { Refusal } from "../../errors.ts";
import { mldsaPkcs8, mldsaPublicPem, readMldsaPrivate } from "../../ml-dsa-key.ts";
import { type AkpJwk, akpJwk } from "./keys.ts";

/** An ML-DSA-65 key that signs. Its private half stays in the closure. */
export interface MldsaKey {
  readonly jwk: AkpJwk;
  /** Signs the ASCII bytes of a signing input: pure ML-DSA, empty context, hedged (RFC 9964 §3, FIPS 204 §5.2). Never refuses. */
  sign(input: string): Promise<Uint8Array>;
  /** Callers check this before they consume anything. @throws {Refusal} temporarily_unavailable while too many signatures wait */
  assertOpen(): void;
}

/** Signs each input off the main thread, or in its own turn of the event loop. */
interface Engine {
  readonly publicKey: Uint8Array;
  readonly atOnce: number;
  sign(input: Uint8Array): Promise<Uint8Array>;
}

/** A core call has 3 s; a hundred signatures take a tenth of a second natively and about one otherwise. */
const MAX_WAITING = 100;

const signInPool = promisify<null, Uint8Array, KeyObject, Buffer>(sign);

/** Signs in Node's thread pool. Undefined where its OpenSSL has no ML-DSA. */
function nativeEngine(seed: Uint8Array): Engine | undefined {
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: mldsaPkcs8(seed), format: "der", type: "pkcs8" });
  } catch {
    return undefined; // this module wrote the PKCS#8 form, so only the algorithm can be unknown
  }
  const { pub } = createPublicKey(key).export({ format: "jwk" }) as { pub?: string };
  if (pub === undefined) return undefined;
  // One core is left to the event loop, and two threads of the pool to passwords and names.
  const atOnce = Math.max(1, Math.min(2, availableParallelism() - 1));
  return { publicKey: Buffer.from(pub, "base64url"), atOnce, sign: (input) => signInPool(null, input, key) };
}

/** Signs on this thread: one signature (about 8 ms) in each turn of the event loop. */
async function portableEngine(seed: Uint8Array): Promise<Engine> {
  const { ml_dsa65 } = await import("@noble/post-quantum/ml-dsa.js");
  const { publicKey, secretKey } = ml_dsa65.keygen(seed);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    publicKey,
    atOnce: 1,
    async sign(input) {
      await turn();
      return ml_dsa65.sign(input, secretKey);
    },
  };
}

const queueFull = () => new Refusal("temporarily_unavailable", "pqc_signing_queue_full", { retryAfter: 1 });

function keyOver(engine: Engine): MldsaKey {
  const signatures = concurrencyLimit({ limit: engine.atOnce, queue: Number.POSITIVE_INFINITY, full: queueFull });
  return {
    jwk: akpJwk(engine.publicKey),
    sign: (input) => signatures.run(() => engine.sign(Buffer.from(input, "ascii"))),
    assertOpen() {
      if (signatures.waiting >= MAX_WAITING) throw queueFull();
    },
  };
}

/** Opens an ML-DSA-65 key, natively where possible. @param seed 32 bytes  @param portable forces the portable code */
export const openMldsaKey = async (seed: Uint8Array, portable = false): Promise<MldsaKey> =>
  keyOver((portable ? undefined : nativeEngine(seed)) ?? (await portableEngine(seed)));

/**
 * The public half of a private key as SPKI PEM, the form that JWT_RETIRED_PUBLIC_KEYS accepts.
 * @param text PKCS#8 PEM with a seed, or a JWK
 * @throws {Error} for any other text
 */
export async function mldsaPublicHalf(text: string): Promise<string> {
  const key = readMldsaPrivate(text);
  if (key === undefined) throw new Error("no ML-DSA-65 private key with its seed");
  return mldsaPublicPem(Buffer.from((await openMldsaKey(key.seed)).jwk.pub, "base64url"));
}
