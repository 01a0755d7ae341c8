import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { AuditEntry } from "../audit.ts";
import { type Clock, secondsSince } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { limitKey } from "../protocol/limit-key.ts";

/** Failures of a pair of client and address, within these seconds, that throttle the pair. */
export const FAILURES = { points: 100, seconds: 60 } as const;
const REMEMBERED_PAIRS = 10_000;

/** Counts failures of a key in a window, over all processes. `hit` returns 0 below `FAILURES.points`, else the seconds left. */
export type FailureCounter = { hit(key: string): Promise<number> };

/** The key of a pair. It is hashed because an untrusted client_id can have any length. */
const keyOf = (clientId: string, address: string): string =>
  createHash("sha256")
    .update(`${limitKey(address)} ${clientId}`)
    .digest("base64url");

/**
 * Reduces the load of guessing one client's secret from one address. Each process remembers the throttled pairs, and learns of one at its
 * next failure. A client that authenticates correctly is never throttled.
 * @param onThrottled called once for each window in which a pair failed too often
 */
export function authenticationThrottle(
  counter: FailureCounter,
  clock: Clock,
  onThrottled: (clientId: string, address: string) => void = () => undefined,
) {
  const throttled = new LRUCache<string, { readonly at: number; readonly wait: number }>({ max: REMEMBERED_PAIRS });
  const secondsLeft = (pair: string): number => {
    const known = throttled.get(pair);
    return known === undefined ? 0 : known.wait - secondsSince(clock, known.at);
  };

  return {
    assertOpen(clientId: string, address: string): void {
      if (throttled.size === 0) return;
      const wait = secondsLeft(keyOf(clientId, address));
      if (wait > 0) throw new Refusal("too_many_requests", "client_authentication_throttled", { retryAfter: Math.max(1, Math.ceil(wait)) });
    },
    async failed(clientId: string, address: string): Promise<void> {
      const pair = keyOf(clientId, address);
      const wait = await counter.hit(pair);
      if (wait === 0 || secondsLeft(pair) > 0) return;
      throttled.set(pair, { at: clock(), wait });
      onThrottled(clientId, address);
    },
  };
}

/** The longest untrusted client_id in an audit record. */
const MAX_RECORDED = 512;

/** The audit record of a throttled pair. Single failures are only counted, since anyone can cause any number of them. */
export const clientShutOut = (clientId: string, address: string): AuditEntry => ({
  event: "client.refused",
  outcome: "failure",
  reason: "client_authentication_throttled",
  actor: { type: "service", id: "client-authentication" },
  clientId: clientId.slice(0, MAX_RECORDED),
  ...(address !== "" && { address }),
});
