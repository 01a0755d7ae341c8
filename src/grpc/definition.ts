import { create, type DescMessage, type DescMethod, fromBinary, type Message, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import { Refusal } from "../errors.ts";

/** A request as it came off the wire: a message, or why it is none. So a bad request is answered as a refusal, not as a fault. */
export type Received = { readonly message: Message; readonly refusal?: never } | { readonly message?: never; readonly refusal: Refusal };

/** grpc-js wants Buffers; this one shares the bytes. */
export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export const encode = (type: DescMessage, message: MessageInitShape<DescMessage>): Buffer =>
  asBuffer(toBinary(type, create(type, message)));

/** @param limit bytes; a larger request is `payload_too_large`, one that is no such message `invalid_request` */
function receive(type: DescMessage, bytes: Uint8Array, limit: number): Received {
  if (bytes.length > limit) return { refusal: new Refusal("payload_too_large", "message_too_large") };
  try {
    return { message: fromBinary(type, bytes) };
  } catch (cause) {
    return { refusal: new Refusal("invalid_request", "message_malformed", { description: "The message cannot be read.", cause }) };
  }
}

export const methodPath = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

/** A method of a generated service as grpc-js wants it on the serving side. */
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

/**
 * Bytes of a request: of a resource server, for one token and for a hundred; of a front, which relays a form of 64 KiB with the headers
 * that came with it, or a hundred tokens.
 */
export const REQUEST_BYTES = { introspect: 64 * KIB, introspectBatch: 1024 * KIB, relayed: 96 * KIB, relayedBatch: 1088 * KIB } as const;
