import { type DescMessage, type DescMethodUnary, fromBinary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { Client, Metadata } from "@grpc/grpc-js";
import { epochMillis } from "../clock.ts";
import { encode, methodPath } from "./definition.ts";
import type { CallContext } from "./local.ts";
import { asRefusal } from "./refusal.ts";

/** Metadata key of the moment after which a unary call must not take effect. */
const NOT_AFTER = "countersign-not-after";

function dated(metadata: Metadata, notAfter: number): Metadata {
  const own = metadata.clone();
  own.set(NOT_AFTER, String(notAfter));
  return own;
}

/** That moment; undefined when the call has none. */
export function notAfterOf({ metadata }: { readonly metadata: Metadata }): number | undefined {
  const [text] = metadata.get(NOT_AFTER);
  const seconds = Number(text);
  return text === undefined || !Number.isFinite(seconds) ? undefined : seconds;
}

type Answer = MessageShape<DescMessage>;

/**
 * One unary call.
 * @param budget milliseconds
 * @throws {Refusal} as the core threw it; `temporarily_unavailable` when no answer came in time; else a fault
 */
export function callOnce(
  client: Client,
  metadata: Metadata,
  method: DescMethodUnary,
  request: MessageInitShape<DescMessage>,
  budget: number,
  { signal, notAfter }: CallContext,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      methodPath(method),
      (message: MessageInitShape<DescMessage>) => encode(method.input, message),
      (bytes) => fromBinary(method.output, bytes),
      request,
      notAfter === undefined ? metadata : dated(metadata, notAfter),
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
