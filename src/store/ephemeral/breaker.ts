const FAILURES = 3;
const PAUSE = 1;

/** Stops calls to a failing service, except one each second as a test. @param now seconds of a monotonic clock */
export function breaker(now: () => number) {
  let failures = 0;
  let nextProbe = 0;
  return {
    /** Whether a call may be made now; its outcome must then be reported. */
    mayCall: (): boolean => {
      if (failures < FAILURES) return true;
      if (now() < nextProbe) return false;
      nextProbe = now() + PAUSE;
      return true;
    },
    succeeded: (): void => {
      failures = 0;
    },
    failed: (): void => {
      failures += 1;
      if (failures >= FAILURES) nextProbe = now() + PAUSE;
    },
  };
}
