/** A clock to turn. Seconds since the epoch. */
export function aClock(now = 1_000_000) {
  let time = now;
  return {
    now: () => time,
    /** Lets seconds pass. */
    pass(seconds: number): void {
      time += seconds;
    },
  };
}
