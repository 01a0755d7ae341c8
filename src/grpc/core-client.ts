import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import type { Client, Metadata } from "@grpc/grpc-js";
import { epochMillis } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { type CoreAddress, connectToCore, frontMetadata } from "./core-channel.ts";
import { timeLimit } from "./deadline.ts";
import { encode, methodPath } from "./definition.ts";
import { type AnyCall, type TokenCore, tokenCoreOf } from "./local.ts";
import { asRefusal } from "./refusal.ts";

export interface RemoteTokenCore extends TokenCore {
  /** Whether a core answers this front right now. Never throws; takes at most a second. */
  ready(): Promise<boolean>;
  /** Calls that are under way are refused. */
  close(): Promise<void>;
}

type Answer = MessageShape<DescMessage>;

/** Milliseconds that `ready` waits. */
const READY_LIMIT = 1_000;

/** One call over the wire. @throws {Refusal} as the core threw it; `temporarily_unavailable` when nobody answered; else a fault */
function callOnce(
  client: Client,
  metadata: Metadata,
  method: DescMethodUnary,
  request: MessageInitShape<DescMessage>,
  budget: number,
  signal?: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      methodPath(method),
      (message: MessageInitShape<DescMessage>) => encode(method.input, message),
      (bytes) => fromBinary(method.output, bytes),
      request,
      metadata,
      { deadline: epochMillis() + budget },
      (error, answer) => {
        signal?.removeEventListener("abort", cancel);
        if (answer !== undefined) resolve(answer);
        else reject(asRefusal(error) ?? new Error(`the token core failed at ${method.name}`, { cause: error }));
      },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

/**
 * The token core of another process, or of several behind one name. A call is repeated only by the transport, and only when it never left
 * this machine or was turned away unread.
 */
export function remoteTokenCore(address: CoreAddress): RemoteTokenCore {
  const client = connectToCore(address);
  const metadata = frontMetadata(address);
  const core = tokenCoreOf(
    (name, method): AnyCall =>
      async (request, options) => {
        if (options?.signal?.aborted) throw new Refusal("temporarily_unavailable", "caller_gone");
        const budget = Math.min(timeLimit(name), options?.timeoutMs ?? Number.POSITIVE_INFINITY);
        return callOnce(client, metadata, method, request, budget, options?.signal);
      },
  );
  return {
    ...core,
    ready: () =>
      core.publicKeys({}, { timeoutMs: READY_LIMIT }).then(
        () => true,
        () => false,
      ),
    async close() {
      client.close();
    },
  };
}
