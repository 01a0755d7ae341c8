import { create, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { AnySchema, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { CATALOGUE, isRefusal, Refusal, type RefusalCode, type RefusalDetail } from "../errors.ts";
import { type ErrorDetail, ErrorDetailSchema } from "../gen/countersign/errors/v1/errors_pb.ts";

/** Where a google.rpc.Status travels, by the convention of all gRPC implementations. */
const STATUS_DETAILS = "grpc-status-details-bin";

/** What a refusal says on a wire. Its `reason` and cause stay at home. */
export const errorDetail = ({ code, detail }: Refusal): ErrorDetail =>
  create(ErrorDetailSchema, {
    error: code,
    errorDescription: detail.description ?? "",
    ...(detail.retryAfter !== undefined && { retryAfter: Math.ceil(detail.retryAfter) }),
    scope: detail.scope ?? "",
    issues: (detail.issues ?? []).map(({ path, message }) => ({ path, message })),
  });

const isRefusalCode = (word: string): word is RefusalCode => Object.hasOwn(CATALOGUE, word);

/** A refusal as it was told by the core; undefined for an error that this release does not know. */
export function refusalOf(told: ErrorDetail, cause?: unknown): Refusal | undefined {
  if (!isRefusalCode(told.error)) return undefined;
  const detail: RefusalDetail = {
    ...(told.errorDescription !== "" && { description: told.errorDescription }),
    ...(told.retryAfter !== undefined && { retryAfter: told.retryAfter }),
    ...(told.scope !== "" && { scope: told.scope }),
    ...(told.issues.length > 0 && { issues: told.issues.map(({ path, message }) => ({ path, message })) }),
    ...(cause !== undefined && { cause }),
  };
  return new Refusal(told.error, "refused_by_core", detail);
}

/** google.rpc.Status: code = 1, message = 2, details = 3. Small enough to be written by hand. */
function encodeStatus(code: number, message: string, detail: ErrorDetail): Buffer {
  const any = toBinary(AnySchema, anyPack(ErrorDetailSchema, detail));
  return Buffer.from(new BinaryWriter().tag(1, 0).int32(code).tag(2, 2).string(message).tag(3, 2).bytes(any).finish());
}

function decodeStatus(bytes: Uint8Array): ErrorDetail | undefined {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field !== 3) {
      reader.skip(wireType, field);
      continue;
    }
    const any: MessageShape<typeof AnySchema> = fromBinary(AnySchema, reader.bytes());
    const detail = anyUnpack(any, ErrorDetailSchema);
    if (detail !== undefined) return detail;
  }
  return undefined;
}

/** The gRPC status that answers whatever was thrown: a refusal in its own words, a fault without any. */
export function statusOf(thrown: unknown): Pick<StatusObject, "code" | "details" | "metadata"> {
  const metadata = new Metadata();
  if (!isRefusal(thrown)) return { code: status.INTERNAL, details: "internal error", metadata };
  const { code, detail } = thrown;
  const message = detail.description ?? code;
  metadata.set(STATUS_DETAILS, encodeStatus(CATALOGUE[code].grpc, message, errorDetail(thrown)));
  return { code: CATALOGUE[code].grpc, details: message, metadata };
}

/** What says that nobody answered, or not in time; the effect of the call is unknown. */
const UNANSWERED: readonly unknown[] = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED];

/**
 * The refusal that an error of a gRPC call stands for: the one that the other side threw, or `temporarily_unavailable` when nobody
 * answered in time. Undefined for everything else, which is a fault.
 */
export function asRefusal(error: unknown): Refusal | undefined {
  if (isRefusal(error)) return error;
  if (!(error instanceof Error) || !("code" in error) || !("metadata" in error) || !(error.metadata instanceof Metadata)) return undefined;
  const [packed] = error.metadata.get(STATUS_DETAILS);
  const told = Buffer.isBuffer(packed) ? readStatus(packed) : undefined;
  if (told !== undefined) return refusalOf(told, error);
  if (UNANSWERED.includes(error.code)) return new Refusal("temporarily_unavailable", "core_unavailable", { retryAfter: 5, cause: error });
  // The size limits of the transport itself come without a detail.
  if (error.code === status.RESOURCE_EXHAUSTED) return new Refusal("payload_too_large", "message_too_large", { cause: error });
  return undefined;
}

function readStatus(packed: Buffer): ErrorDetail | undefined {
  try {
    return decodeStatus(packed);
  } catch {
    return undefined; // not ours to judge: the status code remains
  }
}
