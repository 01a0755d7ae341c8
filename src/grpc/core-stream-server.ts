import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type handleBidiStreamingCall, Metadata, type Server, type ServerDuplexStream } from "@grpc/grpc-js";
import { isRefusal, Refusal } from "../errors.ts";
import {
  type ConverseAnswerSchema,
  type ConverseCall,
  type ConverseRequest,
  ConverseResponseSchema,
  TokenCoreService,
} from "../gen/countersign/token/v1/token_pb.ts";
import { type FrontAccess, frontGate } from "./caller-auth.ts";
import { timeLimit } from "./deadline.ts";
import { asBuffer, REQUEST_BYTES, type Received, servedMethod } from "./definition.ts";
import { type AnyCall, TOKEN_CORE_METHODS, type TokenCore } from "./local.ts";
import { outbox } from "./outbox.ts";
import { errorDetail, statusOf } from "./refusal.ts";
import { authorizationOf, NOT_ADMITTED, type RunCall, serveUnary, type UnaryCall } from "./served-call.ts";
import { termsOf } from "./unary-call.ts";

/** Requests are decoded messages, answers encoded bytes. */
export type CoreDuplex = ServerDuplexStream<Received, Uint8Array>;

type Result = NonNullable<MessageInitShape<typeof ConverseAnswerSchema>["result"]>;

const CLOSING = toBinary(ConverseResponseSchema, create(ConverseResponseSchema, { closing: true }));
const FAILED: Result = { case: "refusal", value: { error: "server_error" } };
/** Of a method of a later release, whose fronts find a core that knows it once all are replaced. */
const UNKNOWN: Result = {
  case: "refusal",
  value: errorDetail(new Refusal("temporarily_unavailable", "method_unknown", { retryAfter: 5 })),
};

function coreStreamServer(core: TokenCore, run: RunCall) {
  const open = new Set<{ sayGoodbye(): void }>();

  async function resultOf(
    { id, timeoutMs, notAfter, traceparent, request }: ConverseCall,
    leaving: Map<number, () => void>,
  ): Promise<Result> {
    if (request.case === undefined) return UNKNOWN;
    const { case: name, value } = request;
    const terms = { method: name, limit: timeLimit(name), callerWaits: timeoutMs, onLeave: (leave: () => void) => leaving.set(id, leave) };
    try {
      const answer = await run(terms, (signal) => (core[name] as AnyCall)(value, { signal, notAfter, traceparent }));
      return { case: name, value: answer } as Result;
    } catch (thrown) {
      return isRefusal(thrown) ? { case: "refusal", value: errorDetail(thrown) } : FAILED;
    }
  }

  let isClosing = false;
  return {
    begin(stream: CoreDuplex): void {
      const leaving = new Map<number, () => void>();
      const answers = outbox((batch, done) => stream.write(batch, done));
      let unanswered = 0;
      let frontIsDone = false;
      const endWhenDone = () => {
        if (frontIsDone && unanswered === 0) stream.end();
      };
      const answer = async (call: ConverseCall) => {
        unanswered += 1;
        const answer = { id: call.id, result: await resultOf(call, leaving) };
        const bytes = toBinary(ConverseResponseSchema, create(ConverseResponseSchema, { answers: [answer] }));
        leaving.delete(call.id);
        answers.push(bytes, () => {
          unanswered -= 1;
          // `end` must follow the write that is about to be made.
          if (frontIsDone) setImmediate(endWhenDone);
        });
      };
      // After a pause of this process, calls that the front has cancelled since are in the same message.
      const take = ({ calls, cancelled }: ConverseRequest) => {
        for (const call of calls) if (!cancelled.includes(call.id)) void answer(call);
        for (const id of cancelled) leaving.get(id)?.();
      };
      const session = { sayGoodbye: () => answers.push(CLOSING) };
      open.add(session);
      if (isClosing) session.sayGoodbye();
      stream.on("data", ({ message, refusal }: Received) => {
        if (refusal) stream.emit("error", statusOf(refusal));
        else take(message as ConverseRequest);
      });
      stream.on("end", () => {
        frontIsDone = true;
        endWhenDone();
      });
      stream.on("cancelled", () => {
        open.delete(session);
        for (const leave of leaving.values()) leave();
      });
      stream.on("error", () => undefined);
      // Shows the front that this core knows the method.
      stream.sendMetadata(new Metadata());
    },
    /** Asks the fronts to leave; each stream ends when the front has ended its side and every call is answered. */
    close(): void {
      isClosing = true; // also for streams that have not begun
      for (const session of open) session.sayGoodbye();
    },
  };
}

/** Adds TokenCoreService to a server, behind the front's credential. @returns its streams, to be closed before the server */
export function serveTokenCore(
  server: Server,
  core: TokenCore,
  access: FrontAccess,
  run: RunCall,
): Pick<ReturnType<typeof coreStreamServer>, "close"> {
  const gate = frontGate(access);
  const admits = (call: Pick<UnaryCall, "metadata" | "getAuthContext">): boolean =>
    gate(authorizationOf(call), call.getAuthContext().sslPeerCertificate !== undefined);
  for (const [name, method] of TOKEN_CORE_METHODS) {
    const call = core[name] as AnyCall;
    serveUnary(server, method, run, {
      bytes: name === "introspect" ? REQUEST_BYTES.relayedBatch : REQUEST_BYTES.relayed,
      limit: timeLimit(name),
      answer: (request, unary, signal) => call(request, { signal, ...termsOf(unary) }),
      admits,
    });
  }
  const host = coreStreamServer(core, run);
  const converse: handleBidiStreamingCall<Received, Uint8Array> = (stream) => {
    if (admits(stream)) host.begin(stream);
    else stream.emit("error", NOT_ADMITTED);
  };
  server.addService(
    { converse: { ...servedMethod(TokenCoreService.method.converse, REQUEST_BYTES.relayedBatch), responseSerialize: asBuffer } },
    { converse },
  );
  return host;
}
