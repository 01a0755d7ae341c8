import type { MessageShape } from "@bufbuild/protobuf";
import type { Channel, OpenChannel } from "./grpc-channel.ts";
import { type KnownRevocations, knownRevocations } from "./revocation-marks.ts";
import type { Clocks } from "./time.ts";

type Service = OpenChannel["service"];
type Answer = MessageShape<Service["watchRevocations"]["output"]>;

/** Milliseconds between two attempts: the first pause after a break, and the longest. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2_000;

/** What is known of revocations, and how well. */
export interface RevocationWatch {
  /** Begins to watch when it has not begun; resolves when all is known for the first time, or so many milliseconds later. */
  ready(milliseconds: number): Promise<void>;
  /** Seconds since it was last heard that all is known; infinite before that. */
  age(): number;
  readonly marks: Pick<KnownRevocations, "anyEnded">;
  close(): void;
}

/** Watches revocations for as long as the guard lives; after a break it goes on from where it was. */
export function watchRevocations(channel: Channel, clocks: Clocks): RevocationWatch {
  let marks = knownRevocations();
  let cursor = "";
  let heardAt = Number.NEGATIVE_INFINITY;
  let pause = FIRST_PAUSE;
  let stop: (() => void) | undefined;
  let closed = false;
  let told: () => void = () => undefined;
  const complete = new Promise<void>((resolve) => {
    told = resolve;
  });

  function hear(answer: Answer): void {
    marks.take(answer, clocks.now());
    if (answer.cursor === "") return;
    cursor = answer.cursor;
    heardAt = clocks.elapsed();
    pause = FIRST_PAUSE;
    told();
  }

  /** Resolves when the stream ends, however it does. */
  async function listen(): Promise<void> {
    const { client, metadata, codec, service } = await channel.open();
    const { path, encode, decode } = codec<Service["watchRevocations"]>(service.watchRevocations);
    await new Promise<void>((resolve) => {
      const stream = client.makeServerStreamRequest(path, encode, decode, { cursor }, metadata);
      stop = () => stream.cancel();
      stream.on("error", () => resolve()).on("end", resolve);
      let heeded = true;
      stream.on("data", (answer: Answer) => {
        try {
          if (heeded) hear(answer);
        } catch {
          heeded = false;
          forget(); // more than can be kept: what is not known whole is not known
          stream.cancel();
        }
      });
    });
  }

  function forget(): void {
    marks = knownRevocations();
    cursor = "";
    heardAt = Number.NEGATIVE_INFINITY;
  }

  async function watch(): Promise<void> {
    while (!closed) {
      await listen().catch(() => undefined);
      if (closed) return;
      await waiting(pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  let beginning: Promise<void> | undefined;
  return {
    ready(milliseconds) {
      if (beginning === undefined) {
        beginning = Promise.race([complete, waiting(milliseconds)]);
        void watch();
      }
      return beginning;
    },
    age: () => clocks.elapsed() - heardAt,
    marks: { anyEnded: (digests) => marks.anyEnded(digests) },
    close() {
      closed = true;
      stop?.();
    },
  };
}

/** A pause for which no process stays alive. */
const waiting = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    const timer: unknown = setTimeout(resolve, milliseconds);
    (timer as { unref?: () => void }).unref?.(); // a number in runtimes where nothing has to be said
  });
