/** The two clocks of the guard: one says what time it is, the other how much of it went by. */
export interface Clocks {
  /** Whole seconds since the epoch; judges `exp`, `nbf` and `iat`, and shows that the machine has slept. */
  readonly now: () => number;
  /** Seconds of a clock that never steps back; measures the age of keys and the pauses between fetches. */
  readonly elapsed: () => number;
}

/** A moment by both clocks. */
export interface Moment {
  readonly now: number;
  readonly elapsed: number;
}

export const LONG_AGO: Moment = { now: Number.NEGATIVE_INFINITY, elapsed: Number.NEGATIVE_INFINITY };

export const momentOf = ({ now, elapsed }: Clocks): Moment => ({ now: now(), elapsed: elapsed() });

/**
 * Seconds since a moment, with those for which the machine slept, but for up to two: the clock that never steps back stands still then. A clock that
 * was set ahead counts as sleep, so this is for what is renewed when it is old, and for nothing that ends by its age.
 */
export const secondsSince = ({ now, elapsed }: Clocks, moment: Moment): number =>
  Math.max(elapsed() - moment.elapsed, now() - moment.now - 1); // `now` is in whole seconds

/** The clocks of the machine. */
export const systemClocks: Clocks = {
  now: () => Math.floor(Date.now() / 1000),
  elapsed: () => performance.now() / 1000,
};
