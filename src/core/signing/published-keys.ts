import { KeyObject } from "node:crypto";
import type { CryptoKey, LocalJWKSet } from "jose";
import type { PublishedKey, RemoteKeys } from "../../clients/key-set.ts";
import { isEd25519, strengthFault } from "../../clients/verification-key.ts";
import { loadOnce } from "../../load-once.ts";
import type { ParsedJws } from "./jws.ts";

/** Loaded late: jose takes 30 ms, and many processes never read a token of a third party. */
const loadJose = loadOnce(() => import("jose"));

export type SignatureVerdict = "valid" | "key_unknown" | "key_ambiguous" | "signature_wrong";

const keySets = new WeakMap<readonly PublishedKey[], LocalJWKSet>();

/** jose treats `EdDSA` and `Ed25519` as two algorithms; without `alg` the curve decides, and both fit. */
const withoutAlias = ({ alg, ...key }: PublishedKey): PublishedKey => (isEd25519(alg) ? key : { alg, ...key });

async function keySetOf(keys: readonly PublishedKey[]): Promise<LocalJWKSet> {
  const known = keySets.get(keys);
  if (known !== undefined) return known;
  const { createLocalJWKSet } = await loadJose();
  const keySet = createLocalJWKSet({ keys: keys.map(withoutAlias) as { kty: string }[] }); // jose checks each key before it uses it
  keySets.set(keys, keySet);
  return keySet;
}

const strong = new WeakMap<CryptoKey, boolean>();

function isStrong(key: CryptoKey): boolean {
  const verdict = strong.get(key) ?? strengthFault(KeyObject.from(key)) === undefined;
  strong.set(key, verdict);
  return verdict;
}

/**
 * Verifies a third party's JWS by the one key of a set that fits its `alg` and `kid`; two fitting keys are refused.
 * Callers have checked the header.
 * @see RFC 7515 §5.2, RFC 7517 §4, RFC 8725 §3.1
 */
export async function verifySignature(jws: ParsedJws, keys: readonly PublishedKey[]): Promise<SignatureVerdict> {
  const [{ compactVerify, errors }, keySet] = await Promise.all([loadJose(), keySetOf(keys)]);
  try {
    const { key } = await compactVerify(`${jws.signingInput}.${jws.signature.toString("base64url")}`, keySet);
    return isStrong(key) ? "valid" : "signature_wrong";
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return "key_unknown";
    if (error instanceof errors.JWKSMultipleMatchingKeys) return "key_ambiguous";
    // A key that cannot be imported is a DOMException of Web Crypto, or a TypeError of jose.
    if (error instanceof errors.JOSEError || error instanceof DOMException || error instanceof TypeError) return "signature_wrong";
    throw error;
  }
}

/** The same by published keys, which are fetched again, within limits, when the key is not among them. @throws {FetchFailure} */
export async function verifyByRemoteKeys(jws: ParsedJws, source: string, keys: RemoteKeys): Promise<SignatureVerdict> {
  const verdict = await verifySignature(jws, await keys.current(source));
  return verdict === "key_unknown" ? verifySignature(jws, await keys.refreshed(source)) : verdict;
}
