/** The two clocks of the guard: one says what time it is, the other how much of it went by. */
export interface Clocks {
  /** Whole seconds since the epoch; judges `exp`, `nbf` and `iat`. */
  readonly now: () => number;
  /** Seconds of a clock that never steps back; measures the age of keys and the pauses between fetches. */
  readonly elapsed: () => number;
}

/** The clocks of the machine. */
export const systemClocks: Clocks = {
  now: () => Math.floor(Date.now() / 1000),
  elapsed: () => performance.now() / 1000,
};
