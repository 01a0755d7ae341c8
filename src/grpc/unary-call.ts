import { type DescMessage, type DescMethodUnary, fromBinary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { Client, Metadata } from "@grpc/grpc-js";
import { epochMillis } from "../clock.ts";
import { encode, methodPath } from "./definition.ts";
import { asRefusal } from "./refusal.ts";

type Answer = MessageShape<DescMessage>;

/**
 * One call over the wire, by the service's unary method.
 * @param budget milliseconds
 * @throws {Refusal} as the core threw it; `temporarily_unavailable` when nobody answered in time; else a fault
 */
export function callOnce(
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
