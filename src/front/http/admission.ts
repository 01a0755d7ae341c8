import { performance } from "node:perf_hooks";

/** What decides how many requests a front takes on at once. Times are milliseconds. */
export const ADMISSION = {
  /** Requests in flight at most, however quick they are. */
  most: 512,
  /** Requests in flight that are always admitted. */
  least: 128,
  /** A turn of the event loop that is long enough: a request that arrives then waits for its end before it is even refused. */
  turn: 12,
  /** Between two adjustments. */
  interval: 50,
  /** What is left of the limit after one adjustment, at least. */
  shrink: 0.25,
  /** The share of an interval that a loop with nothing left to do spends waiting. */
  idle: 0.03,
} as const;

/** What an event loop did in an interval. Times are milliseconds. */
export interface LoopLoad {
  readonly elapsed: number;
  /** Time spent waiting for events. */
  readonly idle: number;
  /** Turns in which a request arrived. */
  readonly turns: number;
  /** The most requests in flight. */
  readonly peak: number;
}

/**
 * The next limit on requests in flight. A loop that waited at all has no backlog: the limit grows. One that never waited, and whose turns are
 * long, has too much in flight at once: the limit shrinks, so that refusals leave while their callers still wait. It stays where it is while
 * less than half of it is used, for then a single request takes long. A slow database is no reason, for the loop waits for it. Pure.
 */
export function nextLimit(limit: number, { elapsed, idle, turns, peak }: LoopLoad, terms: typeof ADMISSION = ADMISSION): number {
  const saturated = idle < elapsed * terms.idle;
  const long = elapsed - idle > terms.turn * turns;
  if (saturated && long) {
    if (peak * 2 < limit) return limit;
    const share = Math.max(terms.shrink, (terms.turn * turns) / (elapsed - idle));
    return Math.max(terms.least, Math.floor(limit * share));
  }
  return Math.min(terms.most, limit + Math.ceil(((limit / 16) * elapsed) / terms.interval));
}

/** The limit on requests in flight, adjusted while requests arrive. */
export function admission(loop: Pick<typeof performance, "now" | "eventLoopUtilization"> = performance) {
  let turns = 0;
  let peak = 0;
  let inTurn = false;
  let since = loop.now();
  let idleBefore = loop.eventLoopUtilization().idle;
  const endTurn = (): void => {
    inTurn = false;
  };
  const admitted = {
    limit: ADMISSION.most as number,
    /** To be called for every request. @param size requests in flight */
    arrived(size: number): void {
      peak = Math.max(peak, size);
      if (inTurn) return;
      inTurn = true;
      setImmediate(endTurn);
      turns += 1;
      const at = loop.now();
      if (at - since < ADMISSION.interval) return;
      const idleAt = loop.eventLoopUtilization().idle;
      admitted.limit = nextLimit(admitted.limit, { elapsed: at - since, idle: idleAt - idleBefore, turns, peak });
      [since, idleBefore, turns, peak] = [at, idleAt, 0, 0];
    },
  };
  return admitted;
}
