import type { CorePorts } from "../../src/core/ports.ts";
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

/** The database's clock as a core knows it, which is certain unless `more` says otherwise. @param now seconds since the epoch */
export const clocksAt = (now: () => number | undefined, more: Partial<CorePorts["clocks"]> = {}): NonNullable<CorePorts["clocks"]> => ({
  now,
  isTrue: () => true,
  assertTrue: async () => undefined,
  ...more,
});
