import { CLIENT_ASSERTION_ALGORITHMS } from "./client.ts";
import type { PublishedKey } from "./key-set.ts";

/** Algorithms by which others may sign what they send us: asymmetric ones only, and the list that the metadata shows. */
export type AssertionAlgorithm = (typeof CLIENT_ASSERTION_ALGORITHMS)[number];

/** What an algorithm needs of a key, and how a signature is checked. */
export interface AlgorithmProfile {
  readonly kty: "OKP" | "EC" | "RSA";
  readonly crv?: string;
  /** Undefined: the algorithm has its own. */
  readonly hash?: string;
  readonly padding?: "pkcs1" | "pss";
  /** Bytes, where the length is fixed (RFC 7518 §3.4, RFC 8037 §3.1). */
  readonly signatureLength?: number;
}

const ED25519: AlgorithmProfile = { kty: "OKP", crv: "Ed25519", signatureLength: 64 };

export const PROFILES: Readonly<Record<AssertionAlgorithm, AlgorithmProfile>> = {
  EdDSA: ED25519,
  Ed25519: ED25519, // RFC 9864: the same by its full name
  ES256: { kty: "EC", crv: "P-256", hash: "sha256", signatureLength: 64 },
  ES384: { kty: "EC", crv: "P-384", hash: "sha384", signatureLength: 96 },
  ES512: { kty: "EC", crv: "P-521", hash: "sha512", signatureLength: 132 },
  PS256: { kty: "RSA", hash: "sha256", padding: "pss" },
  PS384: { kty: "RSA", hash: "sha384", padding: "pss" },
  PS512: { kty: "RSA", hash: "sha512", padding: "pss" },
  RS256: { kty: "RSA", hash: "sha256", padding: "pkcs1" },
  RS384: { kty: "RSA", hash: "sha384", padding: "pkcs1" },
  RS512: { kty: "RSA", hash: "sha512", padding: "pkcs1" },
};

export const isAssertionAlgorithm = (alg: unknown): alg is AssertionAlgorithm => CLIENT_ASSERTION_ALGORITHMS.some((known) => known === alg);

/** Whether a key is of the type, and on the curve, that an algorithm needs. */
export const hasTypeFor = ({ kty, crv }: PublishedKey, alg: AssertionAlgorithm): boolean =>
  kty === PROFILES[alg].kty && (PROFILES[alg].crv === undefined || crv === PROFILES[alg].crv);

/** Whether `use` lets a key verify signatures (RFC 7517 §4.2). */
export const hasUsableUse = ({ use }: PublishedKey): boolean => use === undefined || use === "sig";

/** Whether `key_ops` lets a key verify signatures (RFC 7517 §4.3). */
export const hasUsableOperations = ({ key_ops }: PublishedKey): boolean =>
  key_ops === undefined || (Array.isArray(key_ops) && key_ops.includes("verify"));

/** Whether a key may verify this algorithm, by all that its owner said of it (RFC 7517 §4.2 to §4.4). */
export function suits(key: PublishedKey, alg: AssertionAlgorithm): boolean {
  if (!hasTypeFor(key, alg) || !hasUsableUse(key) || !hasUsableOperations(key)) return false;
  if (key.alg === undefined) return true;
  return isAssertionAlgorithm(key.alg) && (key.alg === alg || (PROFILES[key.alg] === ED25519 && PROFILES[alg] === ED25519));
}
