/** Stops calls to a failing service, except one each second as a test. */
export interface Breaker {
  /** Whether a call may be made now; its outcome must then be reported. */
  mayCall(): boolean;
  succeeded(): void;
  failed(): void;
}

const FAILURES = 3;
const PAUSE = 1;

/** @param now seconds of a monotonic clock */
export function breaker(now: () => number): Breaker {
  let failures = 0;
  let nextProbe = 0;
  return {
    mayCall: () => {
      if (failures < FAILURES) return true;
      if (now() < nextProbe) return false;
      nextProbe = now() + PAUSE;
      return true;
    },
    succeeded: () => {
      failures = 0;
    },
    failed: () => {
      failures += 1;
      if (failures >= FAILURES) nextProbe = now() + PAUSE;
    },
  };
}
