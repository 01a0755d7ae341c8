import { constants, type KeyObject, verify } from "node:crypto";
import type { PublishedKey } from "../../clients/key-set.ts";
import { type AssertionAlgorithm, PROFILES, suits } from "../../clients/signature-algorithms.ts";
import { importedKey } from "../../clients/verification-key.ts";
import type { ParsedJws } from "./jws.ts";

/** Keys that a signature may be from. More than one is as bad as none: then nothing says which was meant. */
export const fittingKeys = (keys: readonly PublishedKey[], alg: AssertionAlgorithm, kid: string | undefined): readonly PublishedKey[] =>
  keys.filter((key) => suits(key, alg) && (kid === undefined || key.kid === kid));

const imported = new WeakMap<PublishedKey, KeyObject | string>();

/** Whether the signature is by this key. The key suits the algorithm (fittingKeys). */
export function isSignedBy(jws: ParsedJws, key: PublishedKey, alg: AssertionAlgorithm): boolean {
  const object = imported.get(key) ?? importedKey(key);
  imported.set(key, object);
  const { hash, padding, signatureLength } = PROFILES[alg];
  if (typeof object === "string" || (signatureLength !== undefined && jws.signature.length !== signatureLength)) return false;
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
