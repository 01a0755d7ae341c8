import type { MessageShape } from "@bufbuild/protobuf";
import type { ClientReadableStream } from "@grpc/grpc-js";
import type { Channel, OpenChannel } from "./grpc-channel.ts";
import { knownRevocations } from "./revocation-marks.ts";
import { type Clocks, LONG_AGO, momentOf, secondsSince } from "./time.ts";

type Service = OpenChannel["service"];
type Answer = MessageShape<Service["watchRevocations"]["output"]>;

/** Milliseconds between two attempts: the first pause after a break, and the longest. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2_000;
/** Milliseconds: the server sends a message every second, but a proxy keeps a stream open whose server is lost. Less than `maxAgeSeconds`, by default. */
const LONGEST_SILENCE = 4_000;

/** Watches revocations until the guard is closed. After an interruption the stream resumes at its cursor. */
export function watchRevocations(channel: Channel, clocks: Clocks) {
  let marks = knownRevocations();
  let cursor = "";
  let completeAt = LONG_AGO;
  let pause = FIRST_PAUSE;
  let stop: (() => void) | undefined;
  let closed = false;
  let failure: unknown;
  let markBegun: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    markBegun = resolve;
  });

  function accept(answer: Answer): void {
    marks.take(answer, clocks.elapsed());
    if (answer.cursor === "") return;
    cursor = answer.cursor;
    completeAt = momentOf(clocks);
    pause = FIRST_PAUSE;
    markBegun();
  }

  /** Resolves when the stream ends. @throws when it fails */
  async function listen(): Promise<void> {
    const { client, metadata, codec, service } = await channel.open();
    const { path, encode, decode } = codec<Service["watchRevocations"]>(service.watchRevocations);
    marks.begin();
    const stream = client.makeServerStreamRequest(path, encode, decode, { cursor }, metadata);
    stop = () => stream.cancel();
    forEachInTime(stream, clocks, accept, () => {
      marks = knownRevocations(); // more events than can be kept: an incomplete set is useless
      cursor = "";
      completeAt = LONG_AGO;
    });
    await endOf(stream);
  }

  async function watch(): Promise<void> {
    while (!closed) {
      await listen().catch((cause: unknown) => {
        failure = cause;
      });
      if (closed) return;
      await new Promise<void>((resolve) => timer(resolve, pause));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  let beginning: Promise<void> | undefined;
  return {
    /** Starts the watch, if needed. Resolves when the initial set of events is complete, after so many milliseconds, or by `close`. */
    ready(milliseconds: number): Promise<void> {
      if (beginning === undefined) {
        const longest = setTimeout(markBegun, milliseconds); // the process stays alive for it: a request waits
        beginning = begun.finally(() => clearTimeout(longest));
        void watch();
      }
      return beginning;
    },
    /** Seconds since the last message of a complete stream; infinite before the first. */
    age: () => secondsSince(clocks, completeAt),
    /** Why the last stream that failed did so. */
    failure: () => failure,
    marks: { anyEnded: (digests: readonly string[]) => marks.anyEnded(digests) },
    close(): void {
      closed = true;
      stop?.();
      markBegun();
    },
  };
}

/**
 * Takes the messages of a stream, which is cancelled at the first that comes too late or cannot be taken. What a process finds that stood still may
 * have waited as long, and its connection may be lost: it says nothing about now.
 */
function forEachInTime(stream: ClientReadableStream<Answer>, clocks: Clocks, take: (answer: Answer) => void, failed: () => void): void {
  let lastAt = momentOf(clocks);
  let isReading = true;
  stream.on("data", (answer: Answer) => {
    if (!isReading) return;
    isReading = secondsSince(clocks, lastAt) <= LONGEST_SILENCE / 1_000;
    lastAt = momentOf(clocks);
    try {
      if (isReading) take(answer);
    } catch {
      isReading = false;
      failed();
    }
    if (!isReading) stream.cancel();
  });
}

/** Resolves when a stream ends, and rejects when it fails. One that is silent for too long is cancelled. */
function endOf(stream: ClientReadableStream<Answer>): Promise<void> {
  const begin = () => timer(() => stream.cancel(), LONGEST_SILENCE);
  let silence = begin();
  stream.on("data", () => {
    clearTimeout(silence);
    silence = begin();
  });
  return new Promise<void>((resolve, reject) => void stream.on("error", reject).on("end", resolve)).finally(() => clearTimeout(silence));
}

/** A timer for which no process stays alive. */
function timer(work: () => void, milliseconds: number) {
  const started = setTimeout(work, milliseconds);
  (started as { unref?: () => void }).unref?.(); // a number in runtimes where nothing has to be said
  return started;
}
