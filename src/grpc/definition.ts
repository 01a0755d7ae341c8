import { create, type DescMessage, type DescMethod, fromBinary, type Message, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import { Refusal } from "../errors.ts";

/** A decoded request, or why it is invalid, so that it is answered as a refusal and not as a fault. */
export type Received = { readonly message: Message; readonly refusal?: never } | { readonly message?: never; readonly refusal: Refusal };

/** A Buffer, as grpc-js needs it, over the same bytes. */
export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export const encode = (type: DescMessage, message: MessageInitShape<DescMessage>): Buffer =>
  asBuffer(toBinary(type, create(type, message)));

/** @param limit bytes; a larger request is `payload_too_large`, an undecodable one `invalid_request` */
function receive(type: DescMessage, bytes: Uint8Array, limit: number): Received {
  if (bytes.length > limit) return { refusal: new Refusal("payload_too_large", "message_too_large") };
  try {
    return { message: fromBinary(type, bytes) };
  } catch (cause) {
    return { refusal: new Refusal("invalid_request", "message_malformed", { description: "The message cannot be read.", cause }) };
  }
}

export const methodPath = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

/** A method of a generated service as a server of grpc-js needs it. */
export const servedMethod = (method: DescMethod, limit: number): MethodDefinition<Received, MessageInitShape<DescMessage>> => ({
  path: methodPath(method),
  requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
  responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
  requestSerialize: () => {
    throw new Error("a served method sends no requests");
  },
  requestDeserialize: (bytes) => receive(method.input, bytes, limit),
  responseSerialize: (message) => encode(method.output, message),
  responseDeserialize: () => {
    throw new Error("a served method receives no answers");
  },
});

const KIB = 1024;

/** Bytes of a request: of a resource server for one token or a hundred; of a front for a 64 KiB form with headers, or a hundred tokens. */
export const REQUEST_BYTES = { introspect: 64 * KIB, introspectBatch: 1024 * KIB, relayed: 96 * KIB, relayedBatch: 1088 * KIB } as const;
