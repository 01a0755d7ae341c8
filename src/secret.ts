import { hash, timingSafeEqual } from "node:crypto";
import type { RandomBytes } from "./clock.ts";

declare const hashed: unique symbol;

/** SHA-256 of a secret that the service generated (code, refresh token, client secret, session id …). Never of a password. */
export type SecretHash = Uint8Array & { readonly [hashed]: true };

/** The only form in which a generated secret is stored: 256 random bits need no slow hash. */
export const hashSecret = (secret: string): SecretHash => hash("sha256", secret, "buffer") as Uint8Array as SecretHash;

/** Marks bytes that come from a store as the hash that they are. */
export const asSecretHash = (bytes: Uint8Array): SecretHash => bytes as SecretHash;

/** Constant-time comparison. */
export const sameHash = (a: SecretHash, b: SecretHash): boolean => a.length === b.length && timingSafeEqual(a, b);

/** 32 random bytes as 43 characters of `A-Z a-z 0-9 _ -`: the same text encoded and unencoded in Basic authentication. */
export const newSecret = (randomBytes: RandomBytes): string => Buffer.from(randomBytes(32)).toString("base64url");

/** 32 random bytes as 64 hexadecimal characters, the shape of refresh and verification tokens (docs/protocol.md#refresh-tokens). */
export const newHexSecret = (randomBytes: RandomBytes): string => Buffer.from(randomBytes(32)).toString("hex");
