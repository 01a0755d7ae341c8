import { Refusal } from "../errors.ts";

/** Calls in flight, of one process. */
export const MAX_IN_FLIGHT = 256;

/** The door of a listener: so many at a time and no more, and a way to wait until the last has left. */
export interface Admission {
  /** @throws {Refusal} temporarily_unavailable at once, when the house is full */
  enter<T>(work: () => Promise<T>): Promise<T>;
  readonly inFlight: () => number;
}

/** @param limit calls in flight */
export function admission(limit: number): Admission {
  let inFlight = 0;
  return {
    async enter(work) {
      if (inFlight >= limit) throw new Refusal("temporarily_unavailable", "too_many_in_flight", { retryAfter: 1 });
      inFlight += 1;
      try {
        return await work();
      } finally {
        inFlight -= 1;
      }
    },
    inFlight: () => inFlight,
  };
}
