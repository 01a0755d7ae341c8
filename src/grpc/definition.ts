import { create, type DescMessage, type DescMethod, fromBinary, type Message, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { MethodDefinition } from "@grpc/grpc-js";
import { Refusal } from "../errors.ts";

/** A decoded request, or why it is invalid, so that it is answered as a refusal and not as a fault. */
export type Received = { readonly message: Message; readonly refusal?: never } | { readonly message?: never; readonly refusal: Refusal };

/** A Buffer, as grpc-js needs it, over the same bytes. */
export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export const encode = (type: DescMessage, message: MessageInitShape<DescMessage>): Buffer =>
  asBuffer(toBinary(type, create(type, message)));

/** Members of a request, each token of a batch among them. */
const MOST_MEMBERS = 1_000;

/** Half a million empty messages fit into a batch, and take half a second to decode, before their sender is authenticated. */
function hasTooManyMembers(bytes: Uint8Array): boolean {
  const reader = new BinaryReader(bytes);
  for (let members = 0; reader.pos < reader.len; members += 1) {
    if (members === MOST_MEMBERS) return true;
    const [number, wireType] = reader.tag();
    reader.skip(wireType, number);
  }
  return false;
}

/** What a request may hold that this release does not know: to keep it takes long, and it is sent to nothing else. */
export const UNKNOWN_LEFT_OUT = { readUnknownFields: false } as const;

/** @param limit bytes; a larger request is `payload_too_large`, an undecodable one `invalid_request` */
function receive({ input, methodKind }: DescMethod, bytes: Uint8Array, limit: number): Received {
  if (bytes.length > limit) return { refusal: new Refusal("payload_too_large", "message_too_large") };
  try {
    // A front sends any number of calls in one message, once it is admitted.
    if (methodKind === "unary" && hasTooManyMembers(bytes)) return { refusal: new Refusal("payload_too_large", "message_too_long") };
    return { message: fromBinary(input, bytes, UNKNOWN_LEFT_OUT) };
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
  requestDeserialize: (bytes) => receive(method, bytes, limit),
  responseSerialize: (message) => encode(method.output, message),
  responseDeserialize: () => {
    throw new Error("a served method receives no answers");
  },
});

const KIB = 1024;

/** Bytes of a request: of a resource server for one token or a hundred; of a front for a 64 KiB form with headers, or a hundred tokens. */
export const REQUEST_BYTES = { introspect: 64 * KIB, introspectBatch: 1024 * KIB, relayed: 96 * KIB, relayedBatch: 1088 * KIB } as const;
