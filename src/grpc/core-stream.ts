import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type Client, type Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { Refusal } from "../errors.ts";
import {
  type ConverseCallSchema,
  ConverseRequestSchema,
  ConverseResponseSchema,
  TokenCoreService,
} from "../gen/countersign/token/v1/token_pb.ts";
import { asBuffer, methodPath, REQUEST_BYTES } from "./definition.ts";
import type { TokenCoreMethod } from "./local.ts";
import { outbox } from "./outbox.ts";
import { type Answer, pendingCalls } from "./pending-calls.ts";

export interface Question {
  readonly name: TokenCoreMethod;
  readonly request: MessageInitShape<DescMessage>;
  /** Milliseconds that the caller waits. */
  readonly budget: number;
  /** Seconds since the epoch by the database's clock, after which the call must not take effect. */
  readonly notAfter?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The front's side of one `Converse` stream. */
export interface CoreStream {
  /** `opening` until the core has shown that it understands; `retired` when nothing more may be asked. */
  readonly state: () => "opening" | "open" | "retired";
  readonly busy: () => boolean;
  /**
   * @returns the answer, or undefined when none will come and the question may be asked elsewhere: it had not left, or it has no effect
   * @throws {Refusal} as the core threw it; `temporarily_unavailable` when the answer did not come, or cannot come any more
   */
  ask(question: Question): Promise<Answer | undefined>;
  /** Asks nothing more; what was asked is still answered. */
  retire(): void;
}

/** How a stream ended: as streams do, because the core does not know the method, or because the core does not answer. */
export type StreamEnd = "closed" | "unknown" | "hung";

const encodeCall = (id: number, { name, request, budget, notAfter }: Question): Uint8Array => {
  const timeoutMs = Math.max(1, Math.floor(budget));
  // The cases of the oneof are the names of the methods, each with its method's request.
  const call = { id, timeoutMs, ...(notAfter !== undefined && { notAfter }), request: { case: name, value: request } };
  const calls = [call as MessageInitShape<typeof ConverseCallSchema>];
  return toBinary(ConverseRequestSchema, create(ConverseRequestSchema, { calls }));
};

const encodeCancel = (id: number): Uint8Array => toBinary(ConverseRequestSchema, create(ConverseRequestSchema, { cancelled: [id] }));

/** What every core answers at once, and from memory. */
const PING: Question = { name: "publicKeys", request: {}, budget: 1_000 };

/** Milliseconds: silence before a question is sent, the wait for anything after it, and the wait for a stream to open. */
const PATIENCE = { quiet: 400, answer: 550, opening: 500 } as const;
/** Milliseconds for reading what has arrived, so that a process that was stopped itself does not blame the other side. */
const LAST_CHANCE = 50;

interface Heartbeat {
  /** Something came from the other side. */
  received(): void;
  stop(): void;
}

/**
 * Notices within a second that the other side of a stream has stopped answering. A connection says nothing about that: the kernel keeps it
 * open for a process that hangs, and a proxy in between answers for it.
 * @param ask sends something that is answered without any work
 * @param hung called once, when nothing came
 */
function heartbeat(ask: () => void, hung: () => void): Heartbeat {
  let last = 0;
  let step: "opening" | "quiet" | "asked" | "last chance" = "opening";
  let timer = setTimeout(turn, PATIENCE.opening);
  let receivedSince = false;
  const wait = (next: typeof step, milliseconds: number) => {
    step = next;
    receivedSince = false;
    timer = setTimeout(turn, milliseconds).unref();
  };
  function turn(): void {
    const quiet = performance.now() - last;
    if (receivedSince && quiet < PATIENCE.quiet) wait("quiet", PATIENCE.quiet - quiet);
    else if (receivedSince || step === "quiet") {
      ask();
      wait("asked", PATIENCE.answer);
    } else if (step === "last chance") hung();
    else wait("last chance", LAST_CHANCE);
  }
  timer.unref();
  return {
    received() {
      last = performance.now();
      receivedSince = true;
    },
    stop: () => clearTimeout(timer),
  };
}

const openConverse = (client: Client, metadata: Metadata) =>
  client.makeBidiStreamRequest(
    methodPath(TokenCoreService.method.converse),
    asBuffer,
    (bytes: Buffer) => fromBinary(ConverseResponseSchema, bytes),
    metadata,
  );

/** @param onEnd called once, when nothing more can be asked and it was not the front that retired the stream, or when the stream is over */
export function openCoreStream(client: Client, metadata: Metadata, onEnd: (how: StreamEnd) => void): CoreStream {
  let state: "opening" | "open" | "retired" = "opening";
  let lastId = 0;
  let hung = false;
  const stream = openConverse(client, metadata);
  const questions = outbox((batch, done) => stream.write(batch, done));
  const cancelWhenHungAndIdle = () => {
    if (hung && pending.isEmpty()) stream.cancel();
  };
  const pending = pendingCalls(cancelWhenHungAndIdle);

  const retire = () => {
    if (state === "retired") return;
    state = "retired";
    pulse.stop();
    // What waits in the outbox has to leave first; one turn of the loop per batch.
    const endWhenSent = () => (questions.waiting() || questions.writing() ? setImmediate(endWhenSent) : stream.end());
    endWhenSent();
  };
  const pulse = heartbeat(
    () => {
      lastId += 1;
      questions.push(encodeCall(lastId, PING));
    },
    () => {
      state = "retired";
      hung = true;
      questions.drop();
      pending.release();
      onEnd("hung");
      cancelWhenHungAndIdle();
    },
  );

  stream.on("metadata", () => {
    pulse.received();
    if (state === "opening") state = "open";
  });
  stream.on("data", ({ answers, closing }: MessageShape<typeof ConverseResponseSchema>) => {
    pulse.received();
    for (const answer of answers) pending.settle(answer);
    if (closing) retire();
  });
  stream.on("error", () => undefined); // reported by the status as well
  stream.on("status", ({ code }: StatusObject) => {
    state = "retired";
    pulse.stop();
    pending.release();
    if (!hung) onEnd(code === status.UNIMPLEMENTED ? "unknown" : "closed");
  });

  return {
    state: () => state,
    busy: () => questions.writing(),
    retire,
    ask(question) {
      lastId += 1;
      const id = lastId;
      const bytes = encodeCall(id, question);
      // One that the core would not take must not take the others' stream down with it.
      if (bytes.length > REQUEST_BYTES.relayedBatch) return Promise.reject(new Refusal("payload_too_large", "message_too_large"));
      const { answer, sendEvents } = pending.add(id, question.name, question.budget, question.signal, () => {
        if (state !== "retired") questions.push(encodeCancel(id));
      });
      questions.push(bytes, sendEvents);
      return answer;
    },
  };
}
