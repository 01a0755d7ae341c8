import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { CATALOGUE, isRefusal, Refusal, type RefusalCode, type RefusalDetail } from "../errors.ts";
import { type ErrorDetail, ErrorDetailSchema } from "../gen/countersign/errors/v1/errors_pb.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";

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

/** The gRPC status that answers whatever was thrown: a refusal in its own words, a fault without any. */
export function statusOf(thrown: unknown): Pick<StatusObject, "code" | "details" | "metadata"> {
  const metadata = new Metadata();
  if (!isRefusal(thrown)) return { code: status.INTERNAL, details: "internal error", metadata };
  const { code, detail } = thrown;
  const message = detail.description ?? code;
  const details = [anyPack(ErrorDetailSchema, errorDetail(thrown))];
  const packed = toBinary(StatusSchema, create(StatusSchema, { code: CATALOGUE[code].grpc, message, details }));
  metadata.set(STATUS_DETAILS, Buffer.from(packed));
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
    const { details } = fromBinary(StatusSchema, packed);
    return details.map((detail) => anyUnpack(detail, ErrorDetailSchema)).find((detail) => detail !== undefined);
  } catch {
    return undefined; // not ours to judge: the status code remains
  }
}
