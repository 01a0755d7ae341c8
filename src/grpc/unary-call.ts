import { type DescMessage, type DescMethodUnary, fromBinary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { Client, Metadata } from "@grpc/grpc-js";
import { epochMillis } from "../clock.ts";
import { encode, methodPath } from "./definition.ts";
import type { CallContext } from "./local.ts";
import { asRefusal } from "./refusal.ts";

/** Metadata key of the moment after which a unary call must not take effect. */
const NOT_AFTER = "countersign-not-after";

/** @see W3C Trace Context §3.2 */
const TRACEPARENT = "traceparent";

type Terms = Pick<CallContext, "notAfter" | "traceparent">;

function withTerms(metadata: Metadata, { notAfter, traceparent }: Terms): Metadata {
  if (notAfter === undefined && traceparent === undefined) return metadata;
  const own = metadata.clone();
  if (notAfter !== undefined) own.set(NOT_AFTER, String(notAfter));
  if (traceparent !== undefined) own.set(TRACEPARENT, traceparent);
  return own;
}

/** What a call carries beside its message. */
export function termsOf({ metadata }: { readonly metadata: Metadata }): Terms {
  const text = (key: string): string | undefined => metadata.get(key)[0]?.toString();
  const seconds = Number(text(NOT_AFTER) ?? Number.NaN);
  return { notAfter: Number.isFinite(seconds) ? seconds : undefined, traceparent: text(TRACEPARENT) };
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
  { signal, ...terms }: CallContext,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      methodPath(method),
      (message: MessageInitShape<DescMessage>) => encode(method.input, message),
      (bytes) => fromBinary(method.output, bytes),
      request,
      withTerms(metadata, terms),
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
