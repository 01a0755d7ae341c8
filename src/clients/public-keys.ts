import { createPublicKey, type JsonWebKeyInput, type KeyObject } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { CLIENT_ASSERTION_ALGORITHMS } from "./client.ts";

/** A public key as its owner published it (RFC 7517 §4). Known to be an object, public and asymmetric, and no more. */
export type PublishedKey = Readonly<Record<string, unknown>>;

/** Keys that third parties publish, by the address of a key set or by the identifier of an issuer. */
export interface RemoteKeys {
  /** Keys that were fetched within the last ten minutes. @throws {FetchFailure} */
  current(source: string): Promise<readonly PublishedKey[]>;
  /** Keys that were fetched within the last minute, for a key id that `current` does not have. @throws {FetchFailure} */
  refreshed(source: string): Promise<readonly PublishedKey[]>;
}

/** Members of private and symmetric keys (RFC 7518 §6.2.2, §6.3.2, §6.4.1; RFC 9964). */
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];
const MAX_KEYS = 100;

/** Whether a key is, or contains, a secret. */
const isPrivateOrSymmetric = (key: PublishedKey): boolean => key.kty === "oct" || PRIVATE_MEMBERS.some((member) => member in key);

export const isObject = (value: unknown): value is PublishedKey => typeof value === "object" && value !== null && !Array.isArray(value);

/** The keys of a JWK Set. @returns undefined for anything but a set of public keys; one private key invalidates all @see RFC 7517 §5 */
export function asPublicKeySet(document: unknown): readonly PublishedKey[] | undefined {
  const keys = isObject(document) ? document.keys : undefined;
  if (!Array.isArray(keys) || keys.length > MAX_KEYS || !keys.every(isObject)) return undefined;
  return keys.some(isPrivateOrSymmetric) ? undefined : keys;
}

/** Asymmetric algorithms with which third parties may sign assertions: the list that the metadata advertises. */
export type AssertionAlgorithm = (typeof CLIENT_ASSERTION_ALGORITHMS)[number];

export const isAssertionAlgorithm = (alg: unknown): alg is AssertionAlgorithm => CLIENT_ASSERTION_ALGORITHMS.some((name) => name === alg);

/** `Ed25519` and `EdDSA` name the same algorithm here (RFC 9864). */
export const isEd25519 = (alg: unknown): boolean => alg === "EdDSA" || alg === "Ed25519";

/** jose treats both names as two algorithms; without `alg` the curve decides, and both fit. */
export const withoutAlias = ({ alg, ...key }: PublishedKey): PublishedKey => (isEd25519(alg) ? key : { alg, ...key });

/** Key type and curve of each elliptic-curve algorithm; all others are RSA (RFC 7518 §3.1, RFC 8037 §3.1). */
const CURVES: { readonly [Alg in AssertionAlgorithm]?: readonly [kty: string, crv: string] } = {
  EdDSA: ["OKP", "Ed25519"],
  Ed25519: ["OKP", "Ed25519"],
  ES256: ["EC", "P-256"],
  ES384: ["EC", "P-384"],
  ES512: ["EC", "P-521"],
};

/** Key types that can verify a signature here. */
export const KEY_TYPES: readonly unknown[] = ["OKP", "EC", "RSA"];

function hasTypeFor({ kty, crv }: PublishedKey, alg: AssertionAlgorithm): boolean {
  const curve = CURVES[alg];
  return curve === undefined ? kty === "RSA" : kty === curve[0] && crv === curve[1];
}

/** Whether a value is a public key of the type that an algorithm needs. Its strength is not checked. */
export const isPublicKeyFor = (value: unknown, alg: AssertionAlgorithm): value is PublishedKey =>
  isObject(value) && !isPrivateOrSymmetric(value) && hasTypeFor(value, alg);

/** Why the owner's description of a key keeps it from verifying any signature (RFC 7517 §4.2 to §4.4). */
function descriptionFault(key: PublishedKey): string | undefined {
  const { use, key_ops: operations, alg } = key;
  if (isPrivateOrSymmetric(key)) return "must not be a private or symmetric key";
  const algorithms = CLIENT_ASSERTION_ALGORITHMS.filter((name) => hasTypeFor(key, name));
  if (algorithms.length === 0) return "must be of kty OKP with crv Ed25519, EC with crv P-256, P-384 or P-521, or RSA";
  if (use !== undefined && use !== "sig") return "must have use sig, or none";
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify")))
    return "must have verify in key_ops, or no key_ops";
  if (alg !== undefined && !algorithms.some((name) => name === alg))
    return "has an alg that does not fit its kty and crv, or is not accepted here";
  return undefined;
}

const MIN_RSA_BITS = 2_048;
/** Verifying one signature with a longer modulus would cost too much. */
const MAX_RSA_BITS = 8_192;
const MAX_RSA_EXPONENT = 0xffff_ffffn;

/** Why an RSA key is too weak or too costly; undefined for a sound one and for keys of other types. */
export function strengthFault(key: KeyObject): string | undefined {
  const { modulusLength, publicExponent = 3n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength === undefined) return undefined;
  if (modulusLength < MIN_RSA_BITS || modulusLength > MAX_RSA_BITS)
    return `has an RSA modulus of ${modulusLength} bits; ${MIN_RSA_BITS} to ${MAX_RSA_BITS} are accepted`;
  if (isFactorable(Buffer.from(key.export({ format: "jwk" }).n ?? "", "base64url")))
    return "has an RSA modulus that can be factored (CVE-2017-15361)";
  return publicExponent < 3n || publicExponent > MAX_RSA_EXPONENT ? "has an RSA exponent that is not accepted" : undefined;
}

/** Odd primes up to 167: the moduli of the faulty generator are powers of 65537 modulo each of them, whatever the key's size. */
const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137, 139,
  149, 151, 157, 163, 167,
];

/** The residues that powers of 65537 have modulo a prime. */
function powersModulo(prime: number): ReadonlySet<number> {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * 65_537) % prime) powers.add(power);
  return powers;
}

const FINGERPRINT = PRIMES.map((prime) => [BigInt(prime), powersModulo(prime)] as const);

/** Whether a modulus (big-endian) can be factored (CVE-2017-15361). One in about two hundred million sound moduli looks the same. */
function isFactorable(modulus: Uint8Array): boolean {
  const n = BigInt(`0x${Buffer.from(modulus).toString("hex") || "0"}`);
  return FINGERPRINT.every(([prime, powers]) => powers.has(Number(n % prime)));
}

/** An Ed25519 key is 32 bytes. Not all of them encode a point, and points of low order verify nothing (RFC 8032 §5.1.3). */
function ed25519Fault({ crv, x }: PublishedKey): string | undefined {
  if (crv !== "Ed25519") return undefined;
  try {
    const point = ed25519.Point.fromBytes(Buffer.from(String(x), "base64url"));
    return point.isSmallOrder() ? "is an Ed25519 point of low order" : undefined;
  } catch {
    return "is not a point on the curve Ed25519";
  }
}

function imported(key: PublishedKey): KeyObject | undefined {
  try {
    return createPublicKey({ key, format: "jwk" } as JsonWebKeyInput); // throws for members that do not fit
  } catch {
    return undefined;
  }
}

/** Why a key can never verify a signature here, in fixed words, if so. @see RFC 7517 §4, RFC 7518 §3.3, RFC 8725 §3.5 */
export function keyFault(key: PublishedKey): string | undefined {
  const described = descriptionFault(key);
  if (described !== undefined) return described;
  const object = imported(key);
  return object === undefined ? "is not a valid public key of its type and curve" : (strengthFault(object) ?? ed25519Fault(key));
}
