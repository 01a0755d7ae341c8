/** A clock that the test sets, in seconds since the epoch. */
export function aClock(now = 1_000_000) {
  let time = now;
  return {
    now: () => time,
    /** Advances the clock. */
    pass(seconds: number): void {
      time += seconds;
    },
  };
}
