import { createPublicKey, type JsonWebKeyInput, type KeyObject } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { CLIENT_ASSERTION_ALGORITHMS } from "./client.ts";
import { isFactorable } from "./factorable.ts";
import { isPrivateOrSymmetric, type PublishedKey } from "./key-set.ts";
import { hasTypeFor, hasUsableOperations, hasUsableUse, suits } from "./signature-algorithms.ts";

const MIN_RSA_BITS = 2_048;
/** Beyond these, checking one signature would cost too much. */
const MAX_RSA_BITS = 8_192;
const MAX_RSA_EXPONENT = 0xffff_ffffn;

/** @returns the key itself, or why nothing is verified by it: its point is off its curve, or its RSA numbers are out of bounds */
export function importedKey(key: PublishedKey): KeyObject | string {
  try {
    const object = createPublicKey({ key, format: "jwk" } as JsonWebKeyInput); // what is wrong with its members is thrown
    const { modulusLength, publicExponent = 3n } = object.asymmetricKeyDetails ?? {};
    if (modulusLength !== undefined && (modulusLength < MIN_RSA_BITS || modulusLength > MAX_RSA_BITS))
      return `has an RSA modulus of ${modulusLength} bits; ${MIN_RSA_BITS} to ${MAX_RSA_BITS} are accepted`;
    if (typeof key.n === "string" && isFactorable(Buffer.from(key.n, "base64url")))
      return "has an RSA modulus that can be factored (CVE-2017-15361)";
    return publicExponent < 3n || publicExponent > MAX_RSA_EXPONENT ? "has an RSA exponent that is not accepted" : object;
  } catch {
    return "is not a valid public key of its type and curve";
  }
}

/** An Ed25519 key is 32 bytes, of which not all stand for a point, and points of low order verify nothing (RFC 8032 §5.1.3). */
function ed25519Fault({ crv, x }: PublishedKey): string | undefined {
  if (crv !== "Ed25519") return undefined;
  try {
    const point = ed25519.Point.fromBytes(Buffer.from(String(x), "base64url"));
    return point.isSmallOrder() ? "is an Ed25519 point of low order" : undefined;
  } catch {
    return "is not a point on the curve Ed25519";
  }
}

/** What a key's owner says of it that keeps it from verifying any signature. */
function descriptionFault(key: PublishedKey): string | undefined {
  if (isPrivateOrSymmetric(key)) return "must not be a private or symmetric key";
  if (!CLIENT_ASSERTION_ALGORITHMS.some((alg) => hasTypeFor(key, alg)))
    return "must be of kty OKP with crv Ed25519, EC with crv P-256, P-384 or P-521, or RSA";
  if (!hasUsableUse(key)) return "must have use sig, or none";
  if (!hasUsableOperations(key)) return "must have verify in key_ops, or no key_ops";
  if (!CLIENT_ASSERTION_ALGORITHMS.some((alg) => suits(key, alg)))
    return "has an alg that does not fit its kty and crv, or is not accepted here";
  return undefined;
}

/**
 * Why a key can never verify a signature here, in fixed words; undefined for one that can. For keys as they are registered: then their
 * owner is there to read it.
 * @see RFC 7517 §4, RFC 7518 §3.3, RFC 8725 §3.5
 */
export function keyFault(key: PublishedKey): string | undefined {
  const described = descriptionFault(key);
  if (described !== undefined) return described;
  const imported = importedKey(key);
  return typeof imported === "string" ? imported : ed25519Fault(key);
}
