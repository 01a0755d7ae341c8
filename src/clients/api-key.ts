import { hashSecret, newHexSecret, type RandomBytes, type SecretHash } from "../random.ts";

/** A static API key after its creation (docs/protocol.md#api-keys). Times are seconds since the epoch, with their fraction. */
export interface ApiKey {
  readonly id: string;
  /** The internal id of the client that it belongs to. */
  readonly clientId: string;
  readonly name: string;
  /** The part that may be shown: enough to recognize the key, not to use it. */
  readonly prefix: string;
  readonly last4: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

/** A new key. It is shown only once. */
export type MintedApiKey = Pick<ApiKey, "prefix" | "last4"> & { readonly key: string; readonly hash: SecretHash };

/** Keys of a client that are not revoked. */
export const MOST_VALID_KEYS = 100;

const API_KEY = /^csk_[0-9a-f]{16}_[0-9a-f]{64}$/;

/** Whether a text has the form of a static API key, which no other token of this server has. */
export const isApiKey = (text: string): boolean => API_KEY.test(text);

/** `csk_`, 16 hexadecimal characters that identify the key, and 64 that are the secret. */
export function mintApiKey(randomBytes: RandomBytes): MintedApiKey {
  const prefix = `csk_${Buffer.from(randomBytes(8)).toString("hex")}`;
  const key = `${prefix}_${newHexSecret(randomBytes)}`;
  return { key, prefix, last4: key.slice(-4), hash: hashSecret(key) };
}
