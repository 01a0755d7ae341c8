import { Refusal } from "../errors.ts";

export type DatabaseClock = ReturnType<typeof databaseClock>;

/**
 * The database's clock, as a process knows it between two readings.
 * @param read the database's clock, in seconds since the epoch  @param process milliseconds since the epoch
 * @param elapsed milliseconds of a clock that never steps, so that a wrong or stepping clock of this process changes nothing
 */
export function databaseClock(read: () => Promise<number>, process: () => number, elapsed: () => number) {
  let last: { readonly read: number; readonly at: number } | undefined;
  return {
    /** Seconds since the epoch with their fraction, never ahead of the database; undefined until it was read once. */
    now: (): number | undefined => last && last.read + (elapsed() - last.at) / 1_000,
    /** Reads the clock. @returns seconds by which the database is ahead of this process */
    async measure(): Promise<number> {
      const before = process();
      const found = await read();
      const middle = (before + process()) / 2_000;
      // As if the answer had taken no time to arrive: this clock is behind the database's, never ahead.
      last = { read: found, at: elapsed() };
      return found - middle;
    },
  };
}

/** Seconds between process and database above which nothing is issued. */
const MAX_OFFSET = 30;
/** Seconds above which the operator is warned. */
const WARN_OFFSET = 5;

export type ClockWatch = ReturnType<typeof clockWatch>;

/**
 * Compares the process's clock, which sets the expiry of tokens, with the database's, which decides whether they have expired.
 * @param offset seconds by which the database is ahead
 */
export function clockWatch(offset: () => Promise<number>, warn: (seconds: number) => void) {
  let apart = 0;
  return {
    /** Measures the offset. Never throws: an unreachable database is reported elsewhere. */
    async look(): Promise<void> {
      const measured = await offset().catch(() => undefined);
      if (measured === undefined) return;
      apart = Math.abs(measured);
      if (apart > WARN_OFFSET) warn(Math.round(measured));
    },
    /** Whether the clocks are close enough to each other to issue anything. */
    isTrue: (): boolean => apart <= MAX_OFFSET,
    /** @throws {Refusal} temporarily_unavailable while the clocks are too far apart to issue anything */
    assertTrue(): void {
      if (apart > MAX_OFFSET) throw new Refusal("temporarily_unavailable", "clock_too_far_off", { retryAfter: 30 });
    },
  };
}
