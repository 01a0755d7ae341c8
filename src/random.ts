import { hash, timingSafeEqual } from "node:crypto";
import { type Clock, epochMillis, systemClock } from "./clock.ts";

/** Cryptographically strong random bytes. */
export type RandomBytes = (length: number) => Uint8Array;

/** Bytes that are fetched at once: a call costs more than the bytes do. */
const POOL = 4096;

/** Random bytes out of a pool that is refilled when it runs out. Bytes that were handed out are wiped from it. */
export function pooled(source: RandomBytes): RandomBytes {
  let pool: Uint8Array = new Uint8Array(0);
  let at = 0;
  return (length) => {
    if (length > POOL / 16) return source(length);
    if (pool.length - at < length) {
      pool = source(POOL);
      at = 0;
    }
    const taken = new Uint8Array(pool.subarray(at, at + length)); // a copy; slice() of a Buffer would be none
    pool.fill(0, at, at + length);
    at += length;
    return taken;
  };
}

/** Twelve bits after the version count the identifiers of one millisecond. */
const MOST = 0xfff;
/** A millisecond begins at a random count below this, so that counts are hard to guess and most of the bits are left to count. */
const FIRST_BELOW = 0x400;

type Count = { milliseconds: number; counter: number };

const counts = new WeakMap<Clock, Count>();

/** The next count of a clock. After a clock was set back, or a millisecond has no counts left, it continues from the last count. */
function nextCount(clock: Clock, random: number): Count {
  const now = clock === systemClock ? epochMillis() : clock() * 1000;
  const last = counts.get(clock);
  const first = random % FIRST_BELOW;
  if (last === undefined || now > last.milliseconds) {
    const begun = { milliseconds: now, counter: first };
    counts.set(clock, begun);
    return begun;
  }
  last.counter += 1;
  if (last.counter > MOST) {
    last.milliseconds += 1;
    last.counter = first;
  }
  return last;
}

/** A UUIDv7: milliseconds, a counter and 62 random bits, so that new rows land at the end of an index. @see RFC 9562 §5.7, §6.2 method 1 */
export function newId(clock: Clock, randomBytes: RandomBytes): string {
  const bytes = Buffer.alloc(16);
  bytes.set(randomBytes(16));
  const { milliseconds, counter } = nextCount(clock, bytes.readUInt16BE(6));
  bytes.writeUIntBE(milliseconds, 0, 6);
  bytes.writeUInt16BE(0x7000 | counter, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text is a UUID in its canonical lower-case form, so that it may be handed to a uuid column. */
export const isUuid = (text: string): boolean => UUID.test(text);

/**
 * A client_id: neither a UUID, which could be a user in `sub`, nor the URL of a metadata document. Basic authentication needs no encoding
 * of it. @see RFC 9068 §5
 */
export const newClientId = (randomBytes: RandomBytes): string => `c_${Buffer.from(randomBytes(16)).toString("base64url")}`;

declare const hashed: unique symbol;

/** SHA-256 of a secret that the service generated (code, refresh token, client secret, session id …). Never of a password. */
export type SecretHash = Uint8Array & { readonly [hashed]: true };

/** The only form in which a generated secret is stored: 256 random bits need no slow hash. */
export const hashSecret = (secret: string): SecretHash => hash("sha256", secret, "buffer") as Uint8Array as SecretHash;

/** SHA-256 of an identifier of an issuer. The issuer's length is part of it, so that no two pairs have the same hash. */
export const identifierHash = (issuer: string, id: string): Uint8Array => hash("sha256", `${issuer.length}:${issuer}${id}`, "buffer");

/** Marks bytes that come from a store as the hash that they are. */
export const asSecretHash = (bytes: Uint8Array): SecretHash => bytes as SecretHash;

/** Constant-time comparison. */
export const sameHash = (a: SecretHash, b: SecretHash): boolean => a.length === b.length && timingSafeEqual(a, b);

/** 32 random bytes as 43 characters of `A-Z a-z 0-9 _ -`: the same text encoded and unencoded in Basic authentication. */
export const newSecret = (randomBytes: RandomBytes): string => Buffer.from(randomBytes(32)).toString("base64url");

/** 32 random bytes as 64 hexadecimal characters, the shape of refresh and verification tokens (docs/protocol.md#refresh-tokens). */
export const newHexSecret = (randomBytes: RandomBytes): string => Buffer.from(randomBytes(32)).toString("hex");
