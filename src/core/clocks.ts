import type { ClockState } from "../clock.ts";
import { Refusal } from "../errors.ts";

/** Seconds by which the time in claims may differ from the database's. While it could differ by more, nothing is issued. */
export const TOLERANCE = 2;
/** Seconds gained or lost per second by a monotonic clock, at most: what the system's own correction allows (adjtimex(2)). */
const DRIFT = 0.0005;

export type DatabaseClock = ReturnType<typeof databaseClock>;

/** A reading: the database's clock in seconds, the process's two clocks in milliseconds, and the seconds that the answer took. */
type Reading = Readonly<Record<"database" | "process" | "elapsed" | "took", number>>;

/**
 * The database's clock, as a process knows it between two readings. It decides every time in claims and every comparison with a time, so
 * that a wrong or stepping clock of this process changes no answer.
 * @param read the database's clock, in seconds since the epoch  @param process milliseconds since the epoch
 * @param elapsed milliseconds of a clock that never steps
 */
export function databaseClock(read: () => Promise<number>, process: () => number, elapsed: () => number) {
  let last: Reading | undefined;
  const now = (): number | undefined => last && last.database + (elapsed() - last.elapsed) / 1_000;
  const isTrue = (): boolean => {
    if (last === undefined) return false;
    const since = elapsed() - last.elapsed;
    // This process's clock was set since the reading, or the machine stood still, which the monotonic clock does not count.
    const hasStepped = Math.abs(process() - last.process - since) > (TOLERANCE / 2) * 1_000;
    return !hasStepped && last.took + (since / 1_000) * DRIFT <= TOLERANCE;
  };
  const offset = (): number => (now() ?? process() / 1_000) - process() / 1_000;
  async function measure(): Promise<number> {
    const [before, began] = [process(), elapsed()];
    const database = await read();
    // As if the answer had taken no time to arrive: this clock is behind the database's, never ahead.
    const reading = { database, process: process(), elapsed: elapsed(), took: (elapsed() - began) / 1_000 };
    if (reading.took <= TOLERANCE / 2 || !isTrue()) last = reading;
    return database - (before + reading.process) / 2_000;
  }
  return {
    /** Seconds since the epoch with their fraction, never ahead of the database; undefined until it was read once. */
    now,
    /** Whole seconds since the epoch; before the first reading by the clock of this process. */
    seconds: (): number => Math.floor(now() ?? process() / 1_000),
    /** Seconds by which the database is ahead of this process; 0 until it was read once. */
    offset,
    /** Undefined while both clocks agree. */
    state: (): ClockState | undefined => {
      if (!isTrue()) return "uncertain";
      return Math.abs(offset()) > TOLERANCE ? "corrected" : undefined;
    },
    /** Reads the clock; a slow answer does not replace a good reading. @returns seconds by which the database is ahead of this process */
    measure,
    /** Whether `now` is certainly within the tolerance. */
    isTrue,
    /** Reads the clock again if `now` may be wrong. @throws {Refusal} temporarily_unavailable if it still may be, so that nothing is issued */
    async assertTrue(): Promise<void> {
      if (isTrue()) return;
      await measure().catch(() => undefined); // an unreachable database is reported elsewhere
      if (!isTrue()) throw new Refusal("temporarily_unavailable", "clock_uncertain", { retryAfter: 1 });
    },
  };
}
