import { Refusal } from "../errors.ts";

/** Seconds between process and database above which tokens would be wrong enough to do harm. */
const TOO_FAR = 30;
/** Seconds above which an operator is to hear of it. */
const NOTEWORTHY = 5;

export interface ClockWatch {
  /** Measures anew. Never throws: a database that does not answer is told elsewhere. */
  look(): Promise<void>;
  /** Whether the clocks are near enough to each other to issue anything. */
  isTrue(): boolean;
  /** @throws {Refusal} temporarily_unavailable while the clocks are too far apart to issue anything */
  assertTrue(): void;
}

/**
 * Compares the process's clock, by which tokens say when they end, with the database's, by which they are judged.
 * @param offset seconds by which the database is ahead
 */
export function clockWatch(offset: () => Promise<number>, warn: (seconds: number) => void): ClockWatch {
  let apart = 0;
  const isTrue = (): boolean => apart <= TOO_FAR;
  return {
    async look() {
      const measured = await offset().catch(() => undefined);
      if (measured === undefined) return;
      apart = Math.abs(measured);
      if (apart > NOTEWORTHY) warn(Math.round(measured));
    },
    isTrue,
    assertTrue() {
      if (!isTrue()) throw new Refusal("temporarily_unavailable", "clock_too_far_off", { retryAfter: 30 });
    },
  };
}
