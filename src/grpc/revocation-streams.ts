import type { MessageInitShape } from "@bufbuild/protobuf";
import type { handleServerStreamingCall, Server, ServerWritableStream } from "@grpc/grpc-js";
import { type RevocationEvent, revocationDigest } from "../core/revocation.ts";
import { Refusal } from "../errors.ts";
import {
  IntrospectionService,
  type WatchRevocationsRequest,
  type WatchRevocationsResponseSchema,
} from "../gen/countersign/introspection/v1/introspection_pb.ts";
import { asBuffer, encode, REQUEST_BYTES, type Received, servedMethod } from "./definition.ts";
import { type AddressOf, asResourceServer } from "./introspection.ts";
import type { TokenCore } from "./local.ts";
import { statusOf } from "./refusal.ts";
import type { RevocationFeed, RevocationPage } from "./revocation-feed.ts";
import { callTerms, type RunCall } from "./served-call.ts";

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
/** Milliseconds within which a reader must have taken all that waits for it. */
const LONGEST_UNREAD = 30_000;
/** Milliseconds until a stream has begun. */
const BEGINNING_LIMIT = 5_000;

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

const method = IntrospectionService.method.watchRevocations;
/** Answers are encoded bytes. */
const SERVED = { ...servedMethod(method, REQUEST_BYTES.introspect), responseSerialize: asBuffer };

/** Serves WatchRevocations. @returns its open streams */
export function serveRevocations(
  server: Server,
  core: Pick<TokenCore, "introspect">,
  run: RunCall,
  feed: RevocationFeed,
  addressOf: AddressOf,
): { close(): void } {
  /** The client of each stream. */
  const open = new Map<Call, string>();
  const closing = new Map<Call, () => void>();
  let stopping = false;

  async function begin(call: Call): Promise<void> {
    const pipe = pipeTo(call);
    let callerChanged = false;
    const { beginning, stop } = await run(callTerms(call, method.name, BEGINNING_LIMIT), async (signal) => {
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
  server.addService({ [method.localName]: SERVED }, { [method.localName]: handle });
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

/** Messages with events, encoded once for all streams that get the same events: digests take long. */
const encodedMarks = new WeakMap<RevocationPage["marks"], readonly Uint8Array[]>();
function messagesOf(marks: RevocationPage["marks"]): readonly Uint8Array[] {
  const known = encodedMarks.get(marks);
  if (known !== undefined) return known;
  const messages = Array.from({ length: Math.max(1, Math.ceil(marks.length / CHUNK)) }, (_, n) =>
    encode(method.output, { marks: marks.slice(n * CHUNK, (n + 1) * CHUNK).map(printed) } satisfies Answer),
  );
  encodedMarks.set(marks, messages);
  return messages;
}

/** Writes events to a call: first the beginning, then, in order, those reported since. */
function pipeTo(call: Call) {
  const early: RevocationPage[] = [];
  let tooSlow: (() => void) | undefined;
  let pulse = Number.NEGATIVE_INFINITY;
  let allReadAt = Number.POSITIVE_INFINITY;

  const send = ({ marks, cursor }: RevocationPage, reset: boolean): void => {
    const messages = messagesOf(marks);
    pulse = performance.now();
    messages.forEach((message, n) => {
      const more: Answer = { ...(n === 0 && { reset }), ...(n === messages.length - 1 && { cursor }) };
      // Encodings of two messages one after the other are that of both merged.
      call.write(Object.keys(more).length === 0 ? message : Buffer.concat([message, encode(method.output, more)]));
    });
  };
  const isBehind = (): boolean => {
    if (call.writableLength === 0) allReadAt = performance.now();
    return performance.now() - allReadAt > LONGEST_UNREAD;
  };
  return {
    report(page: RevocationPage): void {
      if (tooSlow === undefined) early.push(page);
      else if (isBehind()) tooSlow();
      else if (page.marks.length > 0 || performance.now() - pulse >= PULSE) send(page, false);
    },
    begin(beginning: RevocationPage & { readonly whole: boolean }, onTooSlow: () => void): void {
      tooSlow = onTooSlow;
      allReadAt = performance.now();
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
