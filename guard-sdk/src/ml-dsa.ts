import { base64url } from "jose";
import type { KeySet } from "./issuer-document.ts";
import { type Bytes, native, type VerificationKey } from "./signature.ts";

const PUBLIC_KEY_BYTES = 1952;
const SIGNATURE_BYTES = 3309;
const PUBLIC_KEY_TEXT = /^[A-Za-z0-9_-]{2603}$/;

/** Whether an ML-DSA-65 signature holds: pure ML-DSA, empty context (RFC 9964 §3). */
type Verifies = VerificationKey["verifies"];

/** Node's own ML-DSA, or undefined where the OpenSSL under it has none. */
function verifiesNatively(pub: string): Verifies | undefined {
  if (native === undefined) return undefined;
  const { createPublicKey, verify } = native;
  try {
    const key = createPublicKey({ key: { kty: "AKP", alg: "ML-DSA-65", pub }, format: "jwk" });
    return (input, signature) => verify(null, input, key, signature);
  } catch {
    return undefined;
  }
}

/** The same by @noble/post-quantum, for every runtime. @throws when that package is not installed */
async function verifiesPortably(publicKey: Bytes): Promise<Verifies> {
  const { ml_dsa65 } = await import("@noble/post-quantum/ml-dsa.js");
  return (input, signature) => ml_dsa65.verify(signature, input, publicKey);
}

/**
 * An ML-DSA-65 public key from its raw bytes in base64url.
 * @param portable never natively
 * @throws when `pub` is no such key, or when the runtime has no ML-DSA and @noble/post-quantum is not installed
 */
export async function importMldsa(pub: string, portable = false): Promise<VerificationKey> {
  const publicKey = new Uint8Array(base64url.decode(pub));
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw new TypeError(`an ML-DSA-65 public key has ${PUBLIC_KEY_BYTES} bytes`);
  const verifies = (portable ? undefined : verifiesNatively(pub)) ?? (await verifiesPortably(publicKey));
  return { x: pub, verifies: (input, signature) => signature.length === SIGNATURE_BYTES && verifies(input, signature) };
}

/** The ML-DSA-65 signing keys of a JWK Set by `kid` (RFC 9964 §3); entries of any other kind are skipped. Of two under one `kid` the first counts. */
export async function readMldsaKeySet(entries: readonly unknown[], known?: KeySet): Promise<KeySet> {
  const keys = new Map<string, VerificationKey>();
  for (const entry of entries) {
    if (typeof entry !== "object" || entry === null) continue;
    const { kty, alg, pub, kid, use = "sig" } = entry as Record<string, unknown>;
    if (kty !== "AKP" || alg !== "ML-DSA-65" || use !== "sig" || typeof pub !== "string" || typeof kid !== "string" || keys.has(kid))
      continue;
    if (!PUBLIC_KEY_TEXT.test(pub)) continue;
    const same = known?.get(kid);
    keys.set(kid, same?.x === pub ? same : await importMldsa(pub));
  }
  return keys;
}
