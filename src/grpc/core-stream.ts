import { create, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type Client, type Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { Refusal } from "../errors.ts";
import {
  type ConverseCallSchema,
  ConverseRequestSchema,
  ConverseResponseSchema,
  TokenCoreService,
} from "../gen/countersign/token/v1/token_pb.ts";
import { asBuffer, methodPath, REQUEST_BYTES } from "./definition.ts";
import { outbox } from "./outbox.ts";
import { type Answer, pendingCalls, type Question } from "./pending-calls.ts";

/** The front's side of one `Converse` stream. */
export type CoreStream = ReturnType<typeof openCoreStream>;

/**
 * How a stream ended: normally, because the core does not know the method, because the core does not answer at all (`hung`), or because it
 * answers pings but lets calls run into their deadlines (`late`).
 */
export type StreamEnd = "closed" | "unknown" | "hung" | "late";

const encodeCall = (id: number, { name, request, budget, notAfter, traceparent }: Question): Uint8Array => {
  const timeoutMs = Math.max(1, Math.floor(budget));
  // The names of the oneof's cases are the names of the methods.
  const terms = { timeoutMs, ...(notAfter !== undefined && { notAfter }), ...(traceparent !== undefined && { traceparent }) };
  const call = { id, ...terms, request: { case: name, value: request } };
  const calls = [call as MessageInitShape<typeof ConverseCallSchema>];
  return toBinary(ConverseRequestSchema, create(ConverseRequestSchema, { calls }));
};

const encodeCancel = (id: number): Uint8Array => toBinary(ConverseRequestSchema, create(ConverseRequestSchema, { cancelled: [id] }));

/** Every core answers this at once, from memory. */
const PING: Question = { name: "publicKeys", request: {}, budget: 1_000 };

/** Milliseconds: silence before a ping, the wait for its answer until calls are held, from then until they move, and for a stream to open. */
const PATIENCE = { quiet: 400, answer: 150, held: 400, opening: 500 } as const;
/** Milliseconds to read what has arrived, so that a process that was stopped itself does not blame the other side. */
const LAST_CHANCE = 50;

/**
 * Detects within a second that the other side of a stream has stopped answering. The connection does not show it: the kernel keeps it open
 * for a process that hangs, and so does a proxy in between.
 * @param calls held while the answer to a ping is late: what has left is lost with a core that hangs
 * @param ask sends a ping  @param hung called once, when nothing arrived
 */
function heartbeat(calls: Pick<ReturnType<typeof outbox>, "hold" | "release">, ask: () => void, hung: () => void) {
  let last = 0;
  let step: "opening" | "quiet" | "asked" | "held" | "last chance" = "opening";
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
    } else if (step === "asked") {
      calls.hold();
      wait("held", PATIENCE.held);
    } else if (step === "last chance") hung();
    else wait("last chance", LAST_CHANCE);
  }
  timer.unref();
  return {
    /** To be called for everything that arrives. */
    received(): void {
      last = performance.now();
      receivedSince = true;
      calls.release();
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

/** @param onEnd called once, when the stream is over or takes no more questions though the front did not retire it */
export function openCoreStream(client: Client, metadata: Metadata, onEnd: (how: StreamEnd) => void) {
  let state: "opening" | "open" | "retired" = "opening";
  let lastId = 0;
  let hung = false;
  const stream = openConverse(client, metadata);
  const questions = outbox((batch, done) => stream.write(batch, done));
  const cancelWhenHungAndIdle = () => {
    if (hung && pending.isEmpty()) stream.cancel();
  };
  const pending = pendingCalls(cancelWhenHungAndIdle, () => giveUp("late"));

  const retire = (): void => {
    if (state === "retired") return;
    state = "retired";
    pulse.stop();
    questions.finish(() => stream.end());
  };
  const ping = () => {
    lastId += 1;
    questions.push(encodeCall(lastId, PING));
  };
  const pulse = heartbeat(questions, ping, () => giveUp("hung"));
  /** Calls that have not left, or have no effect, move elsewhere; the others may still be answered. */
  function giveUp(how: "hung" | "late"): void {
    if (state === "retired") return;
    state = "retired";
    hung = true;
    pulse.stop();
    questions.drop();
    pending.release();
    onEnd(how);
    cancelWhenHungAndIdle();
  }

  stream.on("metadata", () => {
    pulse.received();
    if (state === "opening") state = "open";
  });
  stream.on("data", ({ answers, closing }: MessageShape<typeof ConverseResponseSchema>) => {
    pulse.received();
    for (const answer of answers) pending.settle(answer);
    if (closing) retire();
  });
  stream.on("error", () => undefined); // the status reports it as well
  stream.on("status", ({ code }: StatusObject) => {
    state = "retired";
    pulse.stop();
    pending.release();
    if (!hung) onEnd(code === status.UNIMPLEMENTED ? "unknown" : "closed");
  });

  return {
    /** `opening` until the core has accepted the stream; `retired` when it takes no more questions. */
    state: () => state,
    busy: (): boolean => questions.waits(),
    /** Takes no more questions; those in flight are still answered. */
    retire,
    /**
     * @returns undefined when no answer will come and the question may be asked elsewhere: it had not left, or can be made again (mayBeRepeated)
     * @throws {Refusal} as the core threw it; `temporarily_unavailable` when no answer came in time
     */
    ask(question: Question): Promise<Answer | undefined> {
      lastId += 1;
      const id = lastId;
      const bytes = encodeCall(id, question);
      // A request above the core's limit would end the whole stream.
      if (bytes.length > REQUEST_BYTES.relayedBatch) return Promise.reject(new Refusal("payload_too_large", "message_too_large"));
      const { answer, sendEvents } = pending.add(id, question, () => {
        if (state !== "retired") questions.push(encodeCancel(id));
      });
      questions.push(bytes, sendEvents);
      return answer;
    },
  };
}
