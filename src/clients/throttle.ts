import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { AuditEntry } from "../audit.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";

/** Failures of a pair within so many seconds after which it is shut out: the last of them shuts the door. */
export const FAILURES = { points: 100, seconds: 60 } as const;
const REMEMBERED_PAIRS = 10_000;

/** Counts failures of a key in a window, over all processes where they share a counter. */
export interface FailureCounter {
  /** @returns 0 while there are fewer than `FAILURES.points` of them, else the seconds until the window ends */
  hit(key: string): Promise<number>;
}

/** The key of a pair: what strangers call themselves may be of any length, a counter's keys are not. */
const keyOf = (clientId: string, address: string): string => createHash("sha256").update(`${address} ${clientId}`).digest("base64url");

/**
 * Slows down guessing of one client's secret from one address: secrets have 256 bits, so this only keeps the noise down. Failures are
 * counted over all processes; each process remembers by itself which pairs are throttled, and learns it at the next failure. A client that
 * authenticates correctly is never throttled, whatever others at its address send in its name.
 * @param shut called when a pair has failed too often, once for each window
 */
export function authenticationThrottle(
  counter: FailureCounter,
  clock: Clock,
  shut: (clientId: string, address: string) => void = () => undefined,
) {
  const shutOut = new LRUCache<string, number>({ max: REMEMBERED_PAIRS });
  const secondsLeft = (pair: string): number => (shutOut.get(pair) ?? 0) - clock();

  return {
    assertOpen(clientId: string, address: string): void {
      if (shutOut.size === 0) return;
      const wait = secondsLeft(keyOf(clientId, address));
      if (wait > 0) throw new Refusal("too_many_requests", "client_authentication_throttled", { retryAfter: Math.max(1, Math.ceil(wait)) });
    },
    async failed(clientId: string, address: string): Promise<void> {
      const pair = keyOf(clientId, address);
      const wait = await counter.hit(pair);
      if (wait === 0 || secondsLeft(pair) > 0) return;
      shutOut.set(pair, clock() + wait);
      shut(clientId, address);
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
