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
export const isPrivateOrSymmetric = (key: PublishedKey): boolean => key.kty === "oct" || PRIVATE_MEMBERS.some((member) => member in key);

export const isObject = (value: unknown): value is PublishedKey => typeof value === "object" && value !== null && !Array.isArray(value);

/** The keys of a JWK Set. @returns undefined for anything but a set of public keys; one private key invalidates all @see RFC 7517 §5 */
export function asPublicKeySet(document: unknown): readonly PublishedKey[] | undefined {
  const keys = isObject(document) ? document.keys : undefined;
  if (!Array.isArray(keys) || keys.length > MAX_KEYS || !keys.every(isObject)) return undefined;
  return keys.some(isPrivateOrSymmetric) ? undefined : keys;
}
