import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";

const LIMIT = 100;
const WINDOW_SECONDS = 60;
const REMEMBERED_PAIRS = 10_000;

/** Slows down guessing of one client's secret from one address, within this process: secrets have 256 bits, so this only keeps the noise down. */
export function authenticationThrottle(clock: Clock) {
  const failures = new LRUCache<string, { count: number; readonly until: number }>({ max: REMEMBERED_PAIRS });
  const living = (key: string) => {
    const entry = failures.get(key);
    return entry !== undefined && entry.until > clock() ? entry : undefined;
  };

  return {
    assertOpen(clientId: string, address: string): void {
      const entry = living(`${address} ${clientId}`);
      if (entry !== undefined && entry.count >= LIMIT) {
        throw new Refusal("too_many_requests", "client_authentication_throttled", { retryAfter: Math.max(1, entry.until - clock()) });
      }
    },
    failed(clientId: string, address: string): void {
      const key = `${address} ${clientId}`;
      const entry = living(key);
      if (entry !== undefined) entry.count += 1;
      else failures.set(key, { count: 1, until: clock() + WINDOW_SECONDS });
    },
  };
}
