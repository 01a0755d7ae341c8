import { authenticationThrottle, FAILURES } from "../../src/clients/throttle.ts";
import type { Clock } from "../../src/clock.ts";
import { memoryRateLimiter } from "../../src/store/ephemeral/memory.ts";

/** The counter of failures of one process. */
export const aCounter = (clock: Clock) => memoryRateLimiter({ ...FAILURES, points: FAILURES.points - 1 }, clock);

export const aThrottle = (clock: Clock) => authenticationThrottle(aCounter(clock), clock);
