import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { handleServerStreamingCall, Server, ServerWritableStream } from "@grpc/grpc-js";
import { epochMillis } from "../clock.ts";
import { type RevocationEvent, type RevocationEvents, revocationDigest } from "../core/revocation.ts";
import { isRefusal, Refusal } from "../errors.ts";
import {
  IntrospectionService,
  type WatchRevocationsRequest,
  type WatchRevocationsResponseSchema,
} from "../gen/countersign/introspection/v1/introspection_pb.ts";
import { INTROSPECTION_LIMIT } from "./deadline.ts";
import { REQUEST_BYTES, type Received, servedMethod } from "./definition.ts";
import { type AddressOf, asResourceServer } from "./introspection.ts";
import type { TokenCore } from "./local.ts";
import { statusOf } from "./refusal.ts";
import type { RunCall } from "./served-call.ts";

/** Milliseconds between two queries while there are watchers. */
const LOOK_EVERY = 200;
/** Milliseconds after a failed query. */
const LOOK_AFTER_FAILURE = 1_000;

/** New events, and the cursor after them. */
export type RevocationPage = { readonly marks: readonly RevocationEvent[]; readonly cursor: string };

export interface RevocationFeed {
  /**
   * Calls `listener` with every event from now on, and with none after each query that found none: silence means that the state is unknown.
   * @returns the earlier events (after `cursor`, or all that matter), some of which may be reported again, and how to stop
   */
  watch(
    cursor: string | undefined,
    listener: (page: RevocationPage) => void,
  ): Promise<{ readonly beginning: RevocationPage & { readonly whole: boolean }; stop(): void }>;
}

/**
 * One query serves all watchers of this process; without watchers there is none. Each query reads from the previous cursor, so that late
 * commits are found; events reported before are left out.
 */
export function revocationFeed(source: RevocationEvents, failed: (fault: unknown) => void): RevocationFeed {
  const listeners = new Set<(page: RevocationPage) => void>();
  let looking: Promise<void> | undefined;

  async function look({ cursor: first, marks }: RevocationPage): Promise<void> {
    let cursor = first;
    let reported = new Set(marks.map(({ sequence }) => sequence));
    while (listeners.size > 0) {
      await sleep(LOOK_EVERY, undefined, { ref: false });
      try {
        const page = await source.since(cursor);
        const news = page.marks.filter(({ sequence }) => !reported.has(sequence));
        reported = new Set(page.marks.map(({ sequence }) => sequence));
        cursor = page.cursor;
        for (const listener of listeners) listener({ marks: news, cursor });
      } catch (error) {
        if (!isRefusal(error)) failed(error);
        await sleep(LOOK_AFTER_FAILURE, undefined, { ref: false });
      }
    }
    looking = undefined; // at once, so that a later watcher starts queries again
  }

  /** Events that are visible already are no news: an open transaction may hold the cursor back, and return them for hours. */
  async function start(): Promise<void> {
    void look(await source.since(await source.edge()));
  }

  /** Resolves once queries have begun: a caller that reads the earlier events after that misses none. */
  function begun(): Promise<void> {
    looking ??= start().catch((error: unknown) => {
      looking = undefined;
      throw error;
    });
    return looking;
  }

  return {
    async watch(cursor, listener) {
      listeners.add(listener);
      try {
        await begun();
        return { beginning: await source.since(cursor), stop: () => void listeners.delete(listener) };
      } catch (error) {
        listeners.delete(listener);
        throw error;
      }
    },
  };
}

type Call = ServerWritableStream<Received, unknown>;
type Answer = MessageInitShape<typeof WatchRevocationsResponseSchema>;

/** Streams of one process, and of one client in it. */
const MOST = 1_000;
const MOST_OF_ONE = 100;
/** Milliseconds after which a stream ends, so that its caller authenticates again. */
const LONGEST = 300_000;
/** Milliseconds: the longest silence on a stream. */
const PULSE = 800;
/** Events of one message. */
const CHUNK = 1_000;
/** Messages that may wait for a slow reader. */
const MOST_WAITING = 2_000;

/**
 * Which stream ends for a further one of a caller. Pure. In a full process the client with the most streams loses its oldest, so that a few
 * clients cannot keep all others out.
 * @param open the client of each stream, the oldest first
 * @returns undefined where there is room, "none" where the caller has its share
 */
export function streamToEnd<Stream extends object>(
  open: ReadonlyMap<Stream, string>,
  caller: string,
  { all, ofOne }: { readonly all: number; readonly ofOne: number } = { all: MOST, ofOne: MOST_OF_ONE },
): Stream | "none" | undefined {
  const streams = Map.groupBy(open.keys(), (stream) => open.get(stream) ?? "");
  const own = streams.get(caller)?.length ?? 0;
  if (own >= ofOne) return "none";
  if (open.size < all) return undefined;
  const most = [...streams.values()].reduce((one, other) => (other.length > one.length ? other : one));
  return most.length > own + 1 ? most[0] : "none";
}

/** The open streams of WatchRevocations. */
export type RevocationStreams = { close(): void };

export function serveRevocations(
  server: Server,
  core: Pick<TokenCore, "introspect">,
  run: RunCall,
  feed: RevocationFeed,
  addressOf: AddressOf,
): RevocationStreams {
  /** The client of each stream. */
  const open = new Map<Call, string>();
  const closing = new Map<Call, () => void>();
  let stopping = false;
  const method = IntrospectionService.method.watchRevocations;

  async function begin(call: Call): Promise<void> {
    const terms = {
      method: method.name,
      limit: INTROSPECTION_LIMIT,
      callerWaits: Number(call.getDeadline()) - epochMillis(),
      onLeave: (leave: () => void) => call.on("cancelled", leave),
    };
    const pipe = pipeTo(call);
    let callerChanged = false;
    const { beginning, stop } = await run(terms, async (signal) => {
      if (call.request.refusal) throw call.request.refusal;
      const { client } = asResourceServer(call, signal, addressOf);
      const authenticate = () => core.introspect({ client, tokens: [] }, { signal });
      await authenticate();
      signal.throwIfAborted();
      const caller = client.basic?.clientId ?? "";
      const ended = streamToEnd(open, caller);
      if (ended === "none") throw new Refusal("too_many_requests", "too_many_streams", { retryAfter: 60 });
      if (ended !== undefined) closing.get(ended)?.();
      open.set(call, caller);
      const { cursor } = call.request.message as unknown as WatchRevocationsRequest;
      const watch = await feed.watch(cursor === "" ? undefined : cursor, (page) => {
        callerChanged ||= concerns(caller, page);
        if (callerChanged) closing.get(call)?.();
        else pipe.report(page);
      });
      await confirm(watch, authenticate);
      if (signal.aborted) watch.stop(); // the caller has left, and nothing else stops it
      return watch;
    });
    const forget = () => {
      clearTimeout(timer);
      stop();
      open.delete(call);
      closing.delete(call);
    };
    const close = () => {
      forget();
      call.end();
    };
    const timer = setTimeout(close, LONGEST);
    closing.set(call, close);
    call.on("cancelled", forget);
    if (call.cancelled) forget();
    else if (stopping || callerChanged) close();
    else
      pipe.begin(beginning, () => {
        forget();
        call.emit("error", statusOf(new Refusal("too_many_requests", "reader_too_slow")));
      });
  }

  const handle: handleServerStreamingCall<Received, unknown> = (call) => {
    begin(call).catch((thrown: unknown) => {
      open.delete(call);
      call.emit("error", statusOf(thrown));
    });
  };
  server.addService({ [method.localName]: servedMethod(method, REQUEST_BYTES.introspect) }, { [method.localName]: handle });
  return {
    close() {
      stopping = true; // also for streams that have not begun
      for (const close of [...closing.values()]) close();
    },
  };
}

/** Authenticates the caller once more when its watch has begun: a change just before would be reported to no one. */
async function confirm({ stop }: { stop(): void }, authenticate: () => Promise<unknown>): Promise<void> {
  try {
    await authenticate();
  } catch (refusal) {
    stop();
    throw refusal;
  }
}

/** Whether a client has been disabled, enabled, deleted or given another secret. */
const concerns = (clientId: string, { marks }: RevocationPage): boolean =>
  marks.some(({ kind, key }) => kind === "client" && key === clientId);

/** Writes events to a call: first the beginning, then, in order, those reported since. */
function pipeTo(call: Call) {
  const early: RevocationPage[] = [];
  let tooSlow: (() => void) | undefined;
  let pulse = Number.NEGATIVE_INFINITY;

  const write = (answer: Answer): void => {
    pulse = performance.now();
    call.write(answer);
  };
  const send = ({ marks, cursor }: RevocationPage, reset: boolean): void => {
    const answers: Answer[] = [];
    for (let at = 0; at < marks.length || at === 0; at += CHUNK) answers.push({ marks: marks.slice(at, at + CHUNK).map(printed) });
    answers.forEach((answer, n) => {
      write({ ...answer, ...(n === 0 && { reset }), ...(n === answers.length - 1 && { cursor }) });
    });
  };
  return {
    report(page: RevocationPage): void {
      if (tooSlow === undefined) early.push(page);
      else if (call.writableLength > MOST_WAITING) tooSlow();
      else if (page.marks.length > 0 || performance.now() - pulse >= PULSE) send(page, false);
    },
    begin(beginning: RevocationPage & { readonly whole: boolean }, onTooSlow: () => void): void {
      tooSlow = onTooSlow;
      send(beginning, beginning.whole);
      for (const page of early) if (page.marks.length > 0) send(page, false);
    },
  };
}

const printed = (mark: RevocationEvent) => ({
  digest: revocationDigest(mark),
  sequence: BigInt(mark.sequence),
  lifted: mark.lifted,
  revokedAt: mark.revokedAt,
  expiresAt: mark.expiresAt,
});
