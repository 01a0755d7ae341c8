import type { Clock, RandomBytes } from "./clock.ts";

/**
 * A UUIDv7: sortable by time, so that new rows land at the end of an index.
 * @see RFC 9562 §5.7
 */
export function newId(clock: Clock, randomBytes: RandomBytes): string {
  const bytes = Buffer.alloc(16);
  bytes.set(randomBytes(16));
  bytes.writeUIntBE(clock() * 1000, 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text is a UUID in its canonical lower-case form, so that it may be handed to a uuid column. */
export const isUuid = (text: string): boolean => UUID.test(text);

/**
 * A client_id: looks neither like a UUID, so that no client can be taken for a user in `sub`, nor like an URL, so that it is never
 * taken for a metadata document; and needs no encoding in Basic authentication.
 * @see RFC 9068 §5
 */
export const newClientId = (randomBytes: RandomBytes): string => `c_${Buffer.from(randomBytes(16)).toString("base64url")}`;
