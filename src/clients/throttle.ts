import { LRUCache } from "lru-cache";
import type { AuditEntry } from "../audit.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";

const LIMIT = 100;
const WINDOW_SECONDS = 60;
const REMEMBERED_PAIRS = 10_000;

/**
 * Slows down guessing of one client's secret from one address, within this process: secrets have 256 bits, so this only keeps the noise down.
 * @param shut told once for each window in which somebody has failed too often
 */
export function authenticationThrottle(clock: Clock, shut: (clientId: string, address: string) => void = () => undefined) {
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
      if (entry !== undefined) {
        entry.count += 1;
        if (entry.count === LIMIT) shut(clientId, address);
      } else failures.set(key, { count: 1, until: clock() + WINDOW_SECONDS });
    },
  };
}

/** The longest text that is written down for what a stranger calls a client_id. */
const TOLD = 512;

/** One record for a hundred failures: each by itself is only counted, for anybody can cause as many as she likes. */
export const clientShutOut = (clientId: string, address: string): AuditEntry => {
  const named = clientId.slice(0, TOLD);
  return {
    event: "client.refused",
    outcome: "failure",
    reason: "client_authentication_throttled",
    actor: { type: "service", id: "client-authentication" },
    clientId: named,
    ...(address !== "" && { address }),
  };
};
