import { type Clock, epochMillis, type RandomBytes, systemClock } from "./clock.ts";

/** Twelve bits after the version count the identifiers of one millisecond. */
const MOST = 0xfff;
/** A millisecond begins at a random count below this, so that counts are hard to guess and most of the bits are left to count. */
const FIRST_BELOW = 0x400;

type Count = { milliseconds: number; counter: number };

const counts = new WeakMap<Clock, Count>();

const millisecondsOf = (clock: Clock): number => (clock === systemClock ? epochMillis() : clock() * 1000);

/** The next count of a clock. After a clock was set back, or a millisecond has no counts left, it continues from the last count. */
function nextCount(clock: Clock, random: number): Count {
  const now = millisecondsOf(clock);
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
