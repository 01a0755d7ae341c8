/** The database's clock, as a process knows it between two looks. */
export interface DatabaseClock {
  /**
   * Seconds since the epoch with their fraction, never later than the database itself would say. It goes on by a clock that never steps, so
   * that a wrong or moving clock of this process changes nothing. Undefined until it was read once.
   */
  now(): number | undefined;
  /** Reads it. @returns seconds by which the database is ahead of this process */
  measure(): Promise<number>;
}

/**
 * @param read the database's clock, in seconds since the epoch  @param process milliseconds since the epoch
 * @param elapsed milliseconds of a clock that never steps
 */
export function databaseClock(read: () => Promise<number>, process: () => number, elapsed: () => number): DatabaseClock {
  let last: { readonly read: number; readonly at: number } | undefined;
  return {
    now: () => last && last.read + (elapsed() - last.at) / 1_000,
    async measure() {
      const before = process();
      const found = await read();
      const middle = (before + process()) / 2_000;
      // As if the answer had taken no time to arrive: what is reckoned from it is behind the database, never ahead.
      last = { read: found, at: elapsed() };
      return found - middle;
    },
  };
}
