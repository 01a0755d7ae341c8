import { Refusal } from "../errors.ts";
import type { TokenCoreMethod } from "./local.ts";

/** Milliseconds: the most that a call may take, whatever its caller would wait for. */
const CORE_LIMIT = 3_000;
export const INTROSPECTION_LIMIT = 1_000;

/** Methods that consume or issue something. A late `revoke` does no harm. */
const EFFECTIVE: readonly TokenCoreMethod[] = ["token", "validateAuthorization", "issueCode", "loginTokens"];
/**
 * Milliseconds between the last moment at which a call may take effect and the moment at which its caller gives up. A statement asks for
 * the time once it holds its rows; after that only foreign keys can make it wait, for as long as the database's lock timeout.
 */
const SETTLING = 500;

/** Milliseconds that every hop keeps back, so that its answer still arrives in time. */
const HOP = 20;
/** Milliseconds: with less than this left, work is not begun. */
const LEAST = 50;

/** Milliseconds that a call of the token core may take. */
export function timeLimit(method: TokenCoreMethod): number {
  return method === "introspect" || method === "verifyApiKey" ? INTROSPECTION_LIMIT : CORE_LIMIT;
}

/** Whether a call may change something that its caller must be able to count on. Pure. */
export const hasEffect = (method: TokenCoreMethod): boolean => EFFECTIVE.includes(method);

/**
 * The last moment at which a call may take effect. Pure.
 * @param now seconds since the epoch by the database's clock  @param budget milliseconds that the caller waits
 * @returns seconds since the epoch by the database's clock
 */
export const lastEffect = (now: number, budget: number): number => now + (budget - SETTLING) / 1_000;

/**
 * The time that a call may take here. Pure.
 * @param limit milliseconds at most  @param callerWaits milliseconds that the caller still waits; absent or infinite: it did not say
 * @throws {Refusal} temporarily_unavailable when so little is left that the work is better not begun
 */
export function timeToAnswer(limit: number, callerWaits = Number.POSITIVE_INFINITY): number {
  const budget = Math.min(limit, callerWaits - HOP);
  if (budget < LEAST) throw new Refusal("temporarily_unavailable", "deadline_too_near", { retryAfter: 1 });
  return budget;
}

/**
 * Runs work that is given up after `budget` milliseconds, or when its caller leaves. What it may have written by then stays written, so the
 * answer is `temporarily_unavailable` and nothing more.
 * @param onLeave takes what is to be called when the caller leaves; calling it later, or never, does no harm
 */
export function withinBudget<T>(
  budget: number,
  onLeave: (leave: () => void) => void,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = new AbortController();
    let open = true;
    const settle = () => {
      open = false;
      clearTimeout(timer);
    };
    const settled =
      <A>(how: (value: A) => void) =>
      (value: A) => {
        settle();
        how(value);
      };
    const giveUp = (reason: string) => {
      if (!open) return;
      settle();
      const refusal = new Refusal("temporarily_unavailable", reason, { retryAfter: 1 });
      stop.abort(refusal);
      reject(refusal);
    };
    const timer = setTimeout(giveUp, budget, "deadline_passed");
    onLeave(() => giveUp("caller_gone"));
    work(stop.signal).then(settled(resolve), settled(reject));
  });
}
