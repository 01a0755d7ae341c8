/** A public key as its owner published it (RFC 7517 §4). Only its being an object, public and asymmetric, has been checked. */
export type PublishedKey = Readonly<Record<string, unknown>>;

/** Members of private and symmetric keys (RFC 7518 §6.2.2, §6.3.2, §6.4.1; RFC 9964). */
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];
const MAX_KEYS = 100;

/** Whether a key is, or brings, a secret. */
export const isPrivateOrSymmetric = (key: PublishedKey): boolean => key.kty === "oct" || PRIVATE_MEMBERS.some((member) => member in key);

const isObject = (value: unknown): value is PublishedKey => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The keys of a JWK Set. One private or symmetric key spoils the whole set: its owner has published what he must not, and nothing in it can
 * be trusted.
 * @returns undefined for what is no set of public keys
 * @see RFC 7517 §5
 */
export function asPublicKeySet(document: unknown): readonly PublishedKey[] | undefined {
  const keys = isObject(document) ? document.keys : undefined;
  if (!Array.isArray(keys) || keys.length > MAX_KEYS || !keys.every(isObject)) return undefined;
  return keys.some(isPrivateOrSymmetric) ? undefined : keys;
}
