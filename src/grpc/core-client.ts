import { setTimeout as sleep } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { isRefusal, Refusal } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import { type CoreAddress, frontMetadata } from "./core-channel.ts";
import { keepPeers, type Names } from "./core-peers.ts";
import type { CoreStream } from "./core-stream.ts";
import { lastEffect, mayBeRepeated, timeLimit } from "./deadline.ts";
import { type AnyCall, tokenCoreOf } from "./local.ts";
import { callOnce } from "./unary-call.ts";

/** An error code, or OpenSSL's words about a certificate; the rest of the text may hold names and addresses. */
const WORDS = /\b(?:E[A-Z]{4,}|ERR_[A-Z_]+|SSL|[a-z -]*certificate[a-z ]*)\b/;

/** Milliseconds for which all calls have failed, after which a failure without such words is an outage too. After a cut it takes less. */
const PATIENCE = 3_000;

type Status = { readonly code?: unknown; readonly details?: unknown } | undefined;

const isUnanswered = ({ reason }: Refusal): boolean => reason === "core_unavailable" || reason === "core_timeout";

/** Why no core serves this front, as the error of a call shows it. Undefined for all other errors, those of a core among them. Pure. */
function outageOf(error: Refusal, failingFor: number): { readonly reason: string; readonly code?: string } | undefined {
  const { reason } = error;
  if (reason === "core_unresolved" || reason === "front_not_admitted") return { reason };
  if (!isUnanswered(error)) return undefined;
  const { code, details } = (error.detail.cause as Status) ?? {};
  const words = code === status.UNAVAILABLE ? WORDS.exec(String(details))?.[0].trim() : undefined;
  const found = words ?? (failingFor > PATIENCE ? "no_answer" : undefined);
  return found === undefined ? undefined : { reason: "core_unavailable", code: found };
}

/**
 * Logs each reason once for an outage of the core, however many calls fail, and once when a call is served again.
 * @param now milliseconds of a clock that only runs forward
 */
export function loggingOutages(
  log: Pick<Log, "info" | "warn"> | undefined,
  now: () => number = () => performance.now(),
): (call: AnyCall) => AnyCall {
  const logged = new Set<string>();
  let failingSince: number | undefined;
  const served = (): void => {
    if (logged.size > 0) log?.info("core_back");
    logged.clear();
    failingSince = undefined;
  };
  const failed = (error: unknown): void => {
    if (!isRefusal(error)) return;
    if (error.reason === "refused_by_core") served();
    if (isUnanswered(error)) failingSince ??= now();
    const outage = outageOf(error, now() - (failingSince ?? now()));
    const why = outage && `${outage.reason} ${outage.code}`;
    if (why === undefined || logged.has(why)) return;
    logged.add(why);
    log?.warn("core_away", outage);
  };
  return (call) => async (request, options) => {
    try {
      const answer = await call(request, options);
      served();
      return answer;
    } catch (error) {
      failed(error);
      throw error;
    }
  };
}

export type RemoteTokenCore = ReturnType<typeof remoteTokenCore>;

/** Milliseconds. */
const READY_LIMIT = 1_000;

/** Milliseconds between two checks for an opening stream, and the most that a call waits for one. */
const OPENING = { look: 20, wait: 1_200 } as const;

/**
 * The token core of other processes. Calls share long-lived streams, or are unary for a core of an earlier release. A call is retried only
 * if it has not left this process, was refused unread (by the transport), or can be made again (mayBeRepeated). A call that cannot
 * carries a deadline for its effect, which lies before the caller's own.
 * @param now the database's clock, seconds since the epoch; while undefined, calls carry no such deadline
 * @param names how the core's name is resolved
 * @param log gets one entry when no core serves this front and one when a core does again
 */
export function remoteTokenCore(address: CoreAddress, now?: () => number | undefined, names?: Names, log?: Pick<Log, "info" | "warn">) {
  const metadata = frontMetadata(address);
  const peers = keepPeers(address, metadata, names);
  /** Waits for a stream that is opening: a unary call might reach a core that hangs. */
  const stream = async (until: number): Promise<CoreStream | undefined> => {
    const patience = Math.min(until, performance.now() + OPENING.wait);
    for (;;) {
      const found = peers.pick();
      if (found !== undefined || !peers.opening() || performance.now() > patience) return found;
      await sleep(OPENING.look);
    }
  };
  const observed = loggingOutages(log);
  const core = tokenCoreOf((name, method) =>
    observed(async (request, options) => {
      const { signal, traceparent } = options ?? {};
      const limit = Math.min(timeLimit(name), options?.timeoutMs ?? Number.POSITIVE_INFINITY);
      const until = performance.now() + limit;
      const notAfter = now && !mayBeRepeated(name, request) ? lastEffectBy(now(), limit) : undefined;
      const budget = () => until - performance.now();
      for (;;) {
        if (signal?.aborted) throw new Refusal("temporarily_unavailable", "caller_gone");
        const found = await stream(until);
        if (found === undefined) break;
        const answer = await found.ask({ name, request, budget: budget(), notAfter, traceparent, signal });
        if (answer !== undefined) return answer;
      }
      const client = await peers.client(until);
      return callOnce(client, metadata, method, request, budget(), { signal, notAfter, traceparent });
    }),
  );
  return {
    ...core,
    /** Whether a core answers this front now. Never throws; takes at most a second. */
    ready(): Promise<boolean> {
      const asked = (timeoutMs: number) => core.publicKeys({}, { timeoutMs });
      // A second stream is tried in time if the first leads to a core that hangs.
      const second = sleep(READY_LIMIT / 2, undefined, { ref: false }).then(() => asked(READY_LIMIT / 2));
      return Promise.any([asked(READY_LIMIT), second]).then(
        () => true,
        () => false,
      );
    },
    /** Refuses calls in flight. */
    async close(): Promise<void> {
      peers.close();
    },
  };
}

function lastEffectBy(now: number | undefined, budget: number): number {
  if (now === undefined) throw new Refusal("temporarily_unavailable", "database_clock_unknown", { retryAfter: 5 });
  return lastEffect(now, budget);
}
