import { authenticationThrottle, FAILURES } from "../../src/clients/throttle.ts";
import type { Clock } from "../../src/clock.ts";
import { memoryRateLimiter } from "../../src/store/ephemeral/memory.ts";

/** What a process of its own counts failures with. */
export const aCounter = (clock: Clock) => memoryRateLimiter(FAILURES.points - 1, FAILURES.seconds, clock);

export const aThrottle = (clock: Clock) => authenticationThrottle(aCounter(clock), clock);
