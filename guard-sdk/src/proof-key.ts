import { base64url, calculateJwkThumbprint, importJWK, type JWK } from "jose";
import { type Bytes, type NodeCrypto, native } from "./signature.ts";

interface ProofAlgorithm {
  readonly kty: "EC" | "OKP" | "RSA";
  readonly crv?: string;
  readonly hash?: "SHA-256" | "SHA-384" | "SHA-512";
  /** Bytes of the salt of a PSS signature. */
  readonly salt?: number;
}

const ALGORITHMS = {
  ES256: { kty: "EC", crv: "P-256", hash: "SHA-256" },
  ES384: { kty: "EC", crv: "P-384", hash: "SHA-384" },
  ES512: { kty: "EC", crv: "P-521", hash: "SHA-512" },
  EdDSA: { kty: "OKP", crv: "Ed25519" },
  Ed25519: { kty: "OKP", crv: "Ed25519" },
  PS256: { kty: "RSA", hash: "SHA-256", salt: 32 },
  PS384: { kty: "RSA", hash: "SHA-384", salt: 48 },
  PS512: { kty: "RSA", hash: "SHA-512", salt: 64 },
  RS256: { kty: "RSA", hash: "SHA-256" },
  RS384: { kty: "RSA", hash: "SHA-384" },
  RS512: { kty: "RSA", hash: "SHA-512" },
} as const satisfies Record<string, ProofAlgorithm>;

type AlgorithmName = keyof typeof ALGORITHMS;

/** Asymmetric algorithms of proofs, which the metadata document lists. */
export const PROOF_ALGORITHMS = Object.keys(ALGORITHMS) as readonly AlgorithmName[];

export const isProofAlgorithm = (alg: unknown): alg is AlgorithmName => typeof alg === "string" && Object.hasOwn(ALGORITHMS, alg);

/** The public key of a proof. */
export interface ProofKey {
  /** Its thumbprint (RFC 7638). */
  readonly jkt: string;
  /** Whether the key signed exactly these bytes. */
  verifies(input: Bytes, signature: Bytes): boolean | Promise<boolean>;
}

const MIN_RSA_BITS = 2_048;
const MAX_RSA_BITS = 8_192;
/** By 1 anything verifies, and by a longer exponent it costs as much as signing. */
const MIN_EXPONENT_BITS = 2;
const MAX_EXPONENT_BITS = 32;

/**
 * @param nodeCrypto null where only WebCrypto is to be used
 * @throws {TypeError} for a key that does not fit the algorithm, or is no public key
 */
export async function importProofKey(jwk: JWK, alg: AlgorithmName, nodeCrypto: NodeCrypto | null | undefined = native): Promise<ProofKey> {
  const { kty, crv, x, y, n, e } = jwk;
  const algorithm: ProofAlgorithm = ALGORITHMS[alg];
  if (kty !== algorithm.kty || (algorithm.crv !== undefined && crv !== algorithm.crv)) throw new TypeError("a key of another type");
  if (kty === "RSA" && !(hasBits(n, MIN_RSA_BITS, MAX_RSA_BITS) && hasBits(e, MIN_EXPONENT_BITS, MAX_EXPONENT_BITS)))
    throw new TypeError("an RSA key of another length");
  const members = JSON.parse(JSON.stringify({ kty, crv, x, y, n, e })) as JWK; // without those that are absent
  const verifies = nodeCrypto ? natively(nodeCrypto, members, algorithm) : await portably(members, alg, algorithm);
  return { jkt: await calculateJwkThumbprint(members), verifies };
}

/** Whether an unsigned integer (RFC 7518 §2) has so many bits; zeros before it are none. */
function hasBits(text: string | undefined, least: number, most: number): boolean {
  const bytes = base64url.decode(text ?? "");
  const first = bytes.findIndex((byte) => byte !== 0);
  const bits = (bytes.length - first) * 8 + 24 - Math.clz32(bytes[first] ?? 0);
  return first >= 0 && bits >= least && bits <= most;
}

function natively({ constants, createPublicKey, verify }: NodeCrypto, jwk: JWK, { kty, hash, salt }: ProofAlgorithm): ProofKey["verifies"] {
  const key = createPublicKey({ key: jwk as Record<string, string>, format: "jwk" });
  const pss = salt === undefined ? {} : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: salt };
  const options = { key, ...(kty === "EC" && { dsaEncoding: "ieee-p1363" as const }), ...pss };
  const digest = hash === undefined ? null : hash.replace("SHA-", "sha"); // the spelling that Deno takes too
  return (input, signature) => verify(digest, input, options, signature);
}

/** The same for every runtime with WebCrypto. */
async function portably(jwk: JWK, alg: string, { kty, hash, salt }: ProofAlgorithm): Promise<ProofKey["verifies"]> {
  const key = await importJWK(jwk, alg);
  if (key instanceof Uint8Array) throw new TypeError("a public key is no secret");
  const names = { EC: "ECDSA", OKP: "Ed25519", RSA: salt === undefined ? "RSASSA-PKCS1-v1_5" : "RSA-PSS" };
  const algorithm = { name: names[kty], ...(kty === "EC" && hash && { hash }), ...(salt !== undefined && { saltLength: salt }) };
  return (input, signature) => crypto.subtle.verify(algorithm, key, signature, input);
}
