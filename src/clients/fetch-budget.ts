import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";

const WINDOW_SECONDS = 60;
const REMEMBERED_KEYS = 10_000;

/**
 * Limits fetches within a minute. Failures are not cached, so this limit keeps callers from making this server flood a third party.
 */
export function fetchBudget(clock: Clock) {
  const windows = new LRUCache<string, { spent: number; readonly until: number }>({ max: REMEMBERED_KEYS });
  return {
    /** @throws {Refusal} too_many_requests */
    spend(key: string, limit: number): void {
      const now = clock();
      const known = windows.get(key);
      const current = known !== undefined && known.until > now ? known : { spent: 0, until: now + WINDOW_SECONDS };
      if (current.spent >= limit) throw new Refusal("too_many_requests", "fetch_budget_spent", { retryAfter: current.until - now });
      current.spent += 1;
      windows.set(key, current);
    },
  };
}
