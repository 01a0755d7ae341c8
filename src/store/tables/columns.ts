import { p } from "@mikro-orm/core";

/**
 * A key that the database makes: its first 48 bits are the time, so that new rows land at the end of an index (migration 0001, uuid_v7).
 */
export const id = () => p.uuid().primary().defaultRaw("uuid_v7()");

export const moment = () => p.datetime().columnType("timestamptz");
export const createdAt = () => moment().defaultRaw("now()");
/** SHA-256 of a secret, or a digest that serves as a key. */
export const hash = () => p.blob();
export const words = () => p.array();
/** Of a user or client: it grows when all sign-ins or grants of before end at once. Elsewhere: the one of the moment of writing. */
export const epoch = () => p.integer().default(0);
