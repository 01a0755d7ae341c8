import { constants, createPublicKey, type JsonWebKeyInput, type KeyObject, verify } from "node:crypto";
import { CLIENT_ASSERTION_ALGORITHMS } from "../../clients/client.ts";
import type { PublishedKey } from "../../clients/key-set.ts";
import { isFactorable } from "./factorable.ts";
import type { ParsedJws } from "./jws.ts";

/** Algorithms by which others may sign what they send us: asymmetric ones only, and the list that the metadata shows. */
export type ForeignAlgorithm = (typeof CLIENT_ASSERTION_ALGORITHMS)[number];

interface Profile {
  readonly kty: "OKP" | "EC" | "RSA";
  readonly crv?: string;
  /** Undefined: the algorithm has its own. */
  readonly hash?: string;
  readonly padding?: "pkcs1" | "pss";
  /** Bytes, where the length is fixed (RFC 7518 §3.4, RFC 8037 §3.1). */
  readonly signatureLength?: number;
}

const ED25519: Profile = { kty: "OKP", crv: "Ed25519", signatureLength: 64 };

const PROFILES: Readonly<Record<ForeignAlgorithm, Profile>> = {
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

export const isForeignAlgorithm = (alg: unknown): alg is ForeignAlgorithm => CLIENT_ASSERTION_ALGORITHMS.some((known) => known === alg);

/** Whether a key may verify this algorithm, by all that its owner said of it (RFC 7517 §4.2 to §4.4). */
function suits(key: PublishedKey, alg: ForeignAlgorithm): boolean {
  const { kty, crv } = PROFILES[alg];
  if (key.kty !== kty || (crv !== undefined && key.crv !== crv)) return false;
  if (key.use !== undefined && key.use !== "sig") return false;
  if (key.key_ops !== undefined && !(Array.isArray(key.key_ops) && key.key_ops.includes("verify"))) return false;
  if (key.alg === undefined) return true;
  return isForeignAlgorithm(key.alg) && (key.alg === alg || (PROFILES[key.alg] === ED25519 && PROFILES[alg] === ED25519));
}

/** Keys that a signature may be from. More than one is as bad as none: then nothing says which was meant. */
export const fittingKeys = (keys: readonly PublishedKey[], alg: ForeignAlgorithm, kid: string | undefined): readonly PublishedKey[] =>
  keys.filter((key) => suits(key, alg) && (kid === undefined || key.kid === kid));

const MIN_RSA_BITS = 2_048;
/** Beyond these, checking one signature would cost too much. */
const MAX_RSA_BITS = 8_192;
const MAX_RSA_EXPONENT = 0xffff_ffffn;

const imported = new WeakMap<PublishedKey, KeyObject | "unfit">();

/** The key itself; a point off its curve, an RSA key outside the bounds and one whose other half can be computed are unfit. */
function importKey(key: PublishedKey): KeyObject | "unfit" {
  try {
    const object = createPublicKey({ key, format: "jwk" } as JsonWebKeyInput); // what is wrong with its members is thrown
    const { modulusLength, publicExponent = 3n } = object.asymmetricKeyDetails ?? {};
    if (modulusLength !== undefined && (modulusLength < MIN_RSA_BITS || modulusLength > MAX_RSA_BITS)) return "unfit";
    if (typeof key.n === "string" && isFactorable(Buffer.from(key.n, "base64url"))) return "unfit";
    return publicExponent < 3n || publicExponent > MAX_RSA_EXPONENT ? "unfit" : object;
  } catch {
    return "unfit";
  }
}

/** Whether the signature is by this key. The key suits the algorithm (fittingKeys). */
export function isSignedBy(jws: ParsedJws, key: PublishedKey, alg: ForeignAlgorithm): boolean {
  const object = imported.get(key) ?? importKey(key);
  imported.set(key, object);
  const { hash, padding, signatureLength } = PROFILES[alg];
  if (object === "unfit" || (signatureLength !== undefined && jws.signature.length !== signatureLength)) return false;
  const input = Buffer.from(jws.signingInput);
  if (hash === undefined) return verify(null, input, object, jws.signature); // a bare key costs less than one among options
  const options = {
    key: object,
    dsaEncoding: "ieee-p1363" as const,
    ...(padding === "pkcs1" && { padding: constants.RSA_PKCS1_PADDING }),
    ...(padding === "pss" && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }),
  };
  return verify(hash, input, options, jws.signature);
}
