import { type ConcurrencyLimit, concurrencyLimit } from "../concurrency-limit.ts";
import { Refusal } from "../errors.ts";

/** Calls in flight of one process. */
export const MAX_IN_FLIGHT = 256;

/** Admits `limit` calls at once and refuses all others with temporarily_unavailable: none of them waits. */
export const admission = (limit: number): ConcurrencyLimit =>
  concurrencyLimit({ limit, queue: 0, full: () => new Refusal("temporarily_unavailable", "too_many_in_flight", { retryAfter: 1 }) });
