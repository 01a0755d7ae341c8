import { constants, KeyObject, verify } from "node:crypto";
import type { CryptoKey, LocalJWKSet } from "jose";
import { Refusal, type RefusalCode } from "../errors.ts";
import { loadOnce } from "../load-once.ts";
import type { ParsedJws } from "../protocol/jws.ts";
import { FetchFailure, unfetched } from "./guarded-fetch.ts";
import { isEd25519, type PublishedKey, type RemoteKeys, strengthFault, withoutAlias } from "./public-keys.ts";
import type { KeySource } from "./remote-keys.ts";

/** Loaded late: jose takes 30 ms, and many processes never read a token of a third party. */
const loadJose = loadOnce(() => import("jose"));

export type SignatureVerdict = "valid" | "key_unknown" | "key_ambiguous" | "signature_wrong";

const keySets = new WeakMap<readonly PublishedKey[], LocalJWKSet>();

async function keySetOf(keys: readonly PublishedKey[]): Promise<LocalJWKSet> {
  const { createLocalJWKSet } = await loadJose();
  const keySet = createLocalJWKSet({ keys: keys.map(withoutAlias) as { kty: string }[] }); // jose checks each key before it uses it
  keySets.set(keys, keySet);
  return keySet;
}

const accepted = new WeakMap<CryptoKey, KeyObject | undefined>();

/** The key for node:crypto; undefined for one that is too weak. */
function acceptedKey(key: CryptoKey): KeyObject | undefined {
  if (!accepted.has(key)) {
    const object = KeyObject.from(key);
    accepted.set(key, strengthFault(object) === undefined ? object : undefined);
  }
  return accepted.get(key);
}

/** Bytes of an elliptic-curve signature (RFC 7518 §3.4). OpenSSL would also read one of another length. */
const SIGNATURE_LENGTHS: Readonly<Record<string, number>> = { ES256: 64, ES384: 96, ES512: 132 };

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };

/** Verifies by one key whose type fits `alg`, on this thread: Web Crypto, with which jose verifies, hands each signature to another one and costs a third more. */
export function signatureHolds({ header: { alg }, signingInput, signature }: ParsedJws, key: KeyObject): boolean {
  const input = Buffer.from(signingInput);
  if (typeof alg !== "string") return false;
  if (isEd25519(alg)) return verify(null, input, key, signature);
  const digest = `sha${alg.slice(2)}`;
  if (alg.startsWith("RS")) return verify(digest, input, key, signature);
  if (alg.startsWith("PS")) return verify(digest, input, { key, ...PSS }, signature);
  return signature.length === SIGNATURE_LENGTHS[alg] && verify(digest, input, { key, dsaEncoding: "ieee-p1363" }, signature);
}

/**
 * Verifies a third party's JWS by the one key of a set that fits its `alg` and `kid`; two fitting keys are refused. jose chooses and imports
 * the key. Callers have checked the header.
 * @see RFC 7515 §5.2, RFC 7517 §4, RFC 8725 §3.1
 */
export async function verifySignature(jws: ParsedJws, keys: readonly PublishedKey[]): Promise<SignatureVerdict> {
  const keySet = keySets.get(keys) ?? (await keySetOf(keys));
  try {
    const key = acceptedKey(await keySet(jws.header));
    return key !== undefined && signatureHolds(jws, key) ? "valid" : "signature_wrong";
  } catch (error) {
    const { errors } = await loadJose();
    if (error instanceof errors.JWKSNoMatchingKey) return "key_unknown";
    if (error instanceof errors.JWKSMultipleMatchingKeys) return "key_ambiguous";
    // A key that cannot be imported is a DOMException of Web Crypto, or a TypeError of jose.
    if (error instanceof errors.JOSEError || error instanceof DOMException || error instanceof TypeError) return "signature_wrong";
    throw error;
  }
}

/**
 * The same by published keys. They are fetched again, within limits, when none of them made the signature: the key can be new, under the `kid` of
 * another one too.
 * @throws {FetchFailure}
 */
export async function verifyByRemoteKeys(jws: ParsedJws, source: string, keys: RemoteKeys): Promise<SignatureVerdict> {
  const known = await keys.current(source);
  const verdict = await verifySignature(jws, known);
  if (verdict === "valid") return verdict;
  const renewed = await keys.refreshed(source).catch((error: unknown) => {
    if (verdict === "key_unknown") throw error;
    return known; // the verdict by these stands
  });
  return renewed === known ? verdict : verifySignature(jws, renewed);
}

/**
 * Refuses a JWT that no key at the source signed.
 * @param what names the keys in the reason of a fetch that failed
 * @throws {Refusal} `code`; temporarily_unavailable where this server had no place for the fetch
 */
export async function assertSignedByRemoteKeys(
  jws: ParsedJws,
  { source, keys }: KeySource,
  code: RefusalCode,
  what: string,
): Promise<void> {
  const verdict = await verifyByRemoteKeys(jws, source, keys).catch((cause: unknown) => {
    throw cause instanceof FetchFailure ? unfetched(cause, code, what) : cause;
  });
  if (verdict !== "valid") throw new Refusal(code, verdict);
}
