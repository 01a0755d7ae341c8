import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../errors.ts";
import { type CoreAddress, connectToCore, frontMetadata, isLoopback, keepConnections } from "./core-channel.ts";
import type { CoreStream } from "./core-stream.ts";
import { keepCoreStreams } from "./core-streams.ts";
import { hasEffect, lastEffect, timeLimit } from "./deadline.ts";
import { type AnyCall, type TokenCore, tokenCoreOf } from "./local.ts";
import { callOnce } from "./unary-call.ts";

export interface RemoteTokenCore extends TokenCore {
  /** Whether a core answers this front right now. Never throws; takes at most a second. */
  ready(): Promise<boolean>;
  /** Calls that are under way are refused. */
  close(): Promise<void>;
}

/** Milliseconds that `ready` waits. */
const READY_LIMIT = 1_000;

/** Connections and streams of a front: one core on this machine, or perhaps several behind one name or one address. */
const SPREAD = { near: { connections: 1, streams: 1 }, far: { connections: 2, streams: 4 } } as const;

/** Milliseconds: between two looks for a stream that is being opened, and for which a call waits for one at most. */
const OPENING = { look: 20, wait: 1_200 } as const;

/**
 * The token core of another process, or of several behind one name. Calls travel together on long-lived streams where the core knows them,
 * one by one where it does not. A call is repeated only when it has not left this process, was turned away unread (the transport sees to
 * that), or has no effect. What has one carries the last moment at which it may have it, which is before its caller is answered.
 * @param now the database's clock in seconds since the epoch; undefined while it is not known. Without it calls carry no such moment.
 */
export function remoteTokenCore(address: CoreAddress, now?: () => number | undefined): RemoteTokenCore {
  const spread = SPREAD[isLoopback(new URL(address.url).hostname) ? "near" : "far"];
  const connections = keepConnections(() => connectToCore(address), spread.connections);
  const metadata = frontMetadata(address);
  const streams = keepCoreStreams(connections, spread.streams, metadata, () => performance.now());
  let turn = 0;
  /** A stream, if need be one that is just being opened: behind a core that hangs a call of its own might be sent to that core again. */
  const stream = async (until: number): Promise<CoreStream | undefined> => {
    const patience = Math.min(until, performance.now() + OPENING.wait);
    for (;;) {
      const found = streams.pick();
      if (found !== undefined || !streams.opening() || performance.now() > patience) return found;
      await sleep(OPENING.look);
    }
  };
  const core = tokenCoreOf(
    (name, method): AnyCall =>
      async (request, options) => {
        const { signal } = options ?? {};
        const limit = Math.min(timeLimit(name), options?.timeoutMs ?? Number.POSITIVE_INFINITY);
        const until = performance.now() + limit;
        const notAfter = now && hasEffect(name) ? lastEffectBy(now(), limit) : undefined;
        const budget = () => until - performance.now();
        for (;;) {
          if (signal?.aborted) throw new Refusal("temporarily_unavailable", "caller_gone");
          const found = await stream(until);
          if (found === undefined) break;
          const answer = await found.ask({ name, request, budget: budget(), notAfter, signal });
          if (answer !== undefined) return answer;
        }
        turn += 1;
        return callOnce(connections.at(turn), metadata, method, request, budget(), { signal, notAfter });
      },
  );
  return {
    ...core,
    ready: () => {
      const asked = (timeoutMs: number) => core.publicKeys({}, { timeoutMs });
      // A second stream is asked in time when the first leads to a core that hangs.
      const second = sleep(READY_LIMIT / 2, undefined, { ref: false }).then(() => asked(READY_LIMIT / 2));
      return Promise.any([asked(READY_LIMIT), second]).then(
        () => true,
        () => false,
      );
    },
    async close() {
      streams.close();
      connections.close();
    },
  };
}

function lastEffectBy(now: number | undefined, budget: number): number {
  if (now === undefined) throw new Refusal("temporarily_unavailable", "database_clock_unknown", { retryAfter: 5 });
  return lastEffect(now, budget);
}
