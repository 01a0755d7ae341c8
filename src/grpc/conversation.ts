import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type Client, type Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { Refusal } from "../errors.ts";
import {
  type ConverseAnswer,
  type ConverseCallSchema,
  ConverseRequestSchema,
  ConverseResponseSchema,
  TokenCoreService,
} from "../gen/countersign/token/v1/token_pb.ts";
import { asBuffer, methodPath } from "./definition.ts";
import { REQUEST_BYTES } from "./limits.ts";
import type { TokenCoreMethod } from "./local.ts";
import { outbox } from "./outbox.ts";
import { refusalOf } from "./refusal.ts";

type Answer = MessageShape<DescMessage>;

export interface Question {
  readonly name: TokenCoreMethod;
  readonly request: MessageInitShape<DescMessage>;
  /** Milliseconds that the caller waits. */
  readonly budget: number;
  readonly signal?: AbortSignal | undefined;
}

/** The front's side of one `Converse` stream. */
export interface Conversation {
  /** `opening` until the core has shown that it understands; `retired` when nothing more may be asked. */
  readonly state: () => "opening" | "open" | "retired";
  readonly busy: () => boolean;
  /**
   * @returns the answer, or undefined when the stream broke before the question left this process: then it may be asked elsewhere
   * @throws {Refusal} as the core threw it; `temporarily_unavailable` when the answer did not come, or cannot come any more
   */
  ask(question: Question): Promise<Answer | undefined>;
  /** Asks nothing more; what was asked is still answered. */
  retire(): void;
}

interface Pending {
  readonly name: TokenCoreMethod;
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (thrown: unknown) => void;
  sent: boolean;
}

const unanswered = (reason: string): Refusal => new Refusal("temporarily_unavailable", reason, { retryAfter: 1 });

const encodeCall = (id: number, { name, request, budget }: Question): Uint8Array => {
  // The cases of the oneof are the names of the methods, each with its method's request.
  const call = { id, timeoutMs: Math.max(1, Math.floor(budget)), request: { case: name, value: request } } as MessageInitShape<
    typeof ConverseCallSchema
  >;
  return toBinary(ConverseRequestSchema, create(ConverseRequestSchema, { calls: [call] }));
};

/** @param onEnd called once, when the stream is over; `understood` is false when the core does not know the method */
export function openConversation(client: Client, metadata: Metadata, onEnd: (understood: boolean) => void): Conversation {
  const pending = new Map<number, Pending>();
  let state: "opening" | "open" | "retired" = "opening";
  let lastId = 0;
  const stream = client.makeBidiStreamRequest(
    methodPath(TokenCoreService.method.converse),
    asBuffer,
    (bytes: Buffer) => fromBinary(ConverseResponseSchema, bytes),
    metadata,
  );
  const questions = outbox((batch, done) => stream.write(batch, done));

  const retire = () => {
    if (state === "retired") return;
    state = "retired";
    // What waits in the outbox has to leave first; one turn of the loop per batch.
    const endWhenSent = () => (questions.waiting() || questions.writing() ? setImmediate(endWhenSent) : stream.end());
    endWhenSent();
  };
  const settle = ({ id, result }: ConverseAnswer) => {
    const asked = pending.get(id);
    if (asked === undefined) return; // its caller has gone
    pending.delete(id);
    if (result.case === asked.name) asked.resolve(result.value);
    else asked.reject((result.case === "refusal" && refusalOf(result.value)) || new Error(`the token core failed at ${asked.name}`));
  };

  stream.on("metadata", () => {
    if (state === "opening") state = "open";
  });
  stream.on("data", ({ answers, closing }: MessageShape<typeof ConverseResponseSchema>) => {
    for (const answer of answers) settle(answer);
    if (closing) retire();
  });
  stream.on("error", () => undefined); // told by the status as well
  stream.on("status", ({ code }: StatusObject) => {
    state = "retired";
    for (const { sent, resolve, reject } of pending.values()) {
      if (sent) reject(unanswered("core_connection_lost"));
      else resolve(undefined);
    }
    pending.clear();
    onEnd(code !== status.UNIMPLEMENTED);
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
      return new Promise<Answer | undefined>((resolve, reject) => {
        const giveUp = (reason: string) => {
          if (pending.delete(id)) reject(unanswered(reason));
        };
        const gone = () => giveUp("caller_gone");
        const timer = setTimeout(giveUp, question.budget, "core_timeout");
        question.signal?.addEventListener("abort", gone, { once: true });
        const settled =
          <A>(how: (value: A) => void) =>
          (value: A) => {
            clearTimeout(timer);
            question.signal?.removeEventListener("abort", gone);
            how(value);
          };
        const asked: Pending = { name: question.name, resolve: settled(resolve), reject: settled(reject), sent: false };
        pending.set(id, asked);
        questions.push(bytes, () => {
          asked.sent = true;
        });
      });
    },
  };
}
