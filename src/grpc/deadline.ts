import { untilAborted } from "../concurrency-limit.ts";
import { Refusal } from "../errors.ts";
import type { TokenCoreMethod } from "./local.ts";

/** Milliseconds: the most that any call may take. */
const CORE_LIMIT = 3_000;
export const INTROSPECTION_LIMIT = 1_000;

/** Methods that consume or issue something. A late `revoke` is harmless, and so is a second pending request of a device or a pushed one. */
const EFFECTIVE: readonly TokenCoreMethod[] = ["token", "validateAuthorization", "issueCode", "loginTokens"];
/**
 * Milliseconds between the last moment for a call's effect and its caller's deadline. A statement checks the time once it holds its rows;
 * after that it waits only for foreign keys, at most for the database's lock timeout.
 */
const SETTLING = 500;

/** Milliseconds that every hop reserves so that its answer arrives in time. */
const HOP = 20;
/** Milliseconds: with less than this left, work does not start. */
const LEAST = 50;

/** Milliseconds that a method of the token core may take. */
export function timeLimit(method: TokenCoreMethod): number {
  return method === "introspect" || method === "verifyApiKey" ? INTROSPECTION_LIMIT : CORE_LIMIT;
}

/** What a request may carry that works once: the assertion of a client and a proof of possession. */
interface SingleUse {
  readonly dpop?: unknown;
  readonly client?: { readonly assertion?: unknown; readonly dpop?: unknown };
}

/**
 * Whether a call that may have been executed can be made again: it consumes and issues nothing that a repetition would miss, and carries nothing that
 * works once, which a second core would refuse as a replay. Pure.
 */
export function mayBeRepeated(method: TokenCoreMethod, { client, dpop }: SingleUse): boolean {
  return !EFFECTIVE.includes(method) && [dpop, client?.dpop, client?.assertion].every((once) => once === undefined);
}

/**
 * The last moment at which a call may take effect, in seconds since the epoch. Pure.
 * @param now seconds since the epoch by the database's clock  @param budget milliseconds that the caller waits
 */
export const lastEffect = (now: number, budget: number): number => now + (budget - SETTLING) / 1_000;

/**
 * Milliseconds that a call may take here. Pure.
 * @param limit milliseconds at most  @param callerWaits milliseconds; infinite when the caller set no deadline
 * @throws {Refusal} temporarily_unavailable when too little time is left
 */
export function timeToAnswer(limit: number, callerWaits = Number.POSITIVE_INFINITY): number {
  const budget = Math.min(limit, callerWaits - HOP);
  if (budget < LEAST) throw new Refusal("temporarily_unavailable", "deadline_too_near", { retryAfter: 1 });
  return budget;
}

/** A day, by the units of `grpc-timeout` that can hold more. */
const DAY: Readonly<Record<string, number>> = { H: 24, M: 1_440, S: 86_400 };
const DAY_MS = 86_400_000;

/** Deadlines of more than 24 days overflow the timers of grpc-js and Connect, and have passed at once or soon. No call takes a day. */
export function shortenDeadline(headers: NodeJS.Dict<string | string[]>): void {
  const [, amount, unit = ""] = /(\d{1,8})\s*([HMS])/.exec(String(headers["grpc-timeout"])) ?? [];
  if (Number(amount) > (DAY[unit] ?? 0)) headers["grpc-timeout"] = "24H";
  if (Number(headers["connect-timeout-ms"]) > DAY_MS) headers["connect-timeout-ms"] = `${DAY_MS}`;
}

/**
 * Aborts work after `budget` milliseconds, or when its caller leaves. It may have written something by then, so the answer is only
 * `temporarily_unavailable`.
 * @param onLeave receives a function to be called when the caller leaves; calling it later, or never, is harmless
 */
export async function withinBudget<T>(
  budget: number,
  onLeave: (leave: () => void) => void,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  let open = true;
  const giveUp = (reason: string) => {
    if (open) stop.abort(new Refusal("temporarily_unavailable", reason, { retryAfter: 1 }));
  };
  const timer = setTimeout(giveUp, budget, "deadline_passed");
  onLeave(() => giveUp("caller_gone"));
  try {
    return await untilAborted(work(stop.signal), stop.signal);
  } finally {
    open = false;
    clearTimeout(timer);
  }
}
