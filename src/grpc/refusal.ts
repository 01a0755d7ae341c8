import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { CATALOGUE, isRefusal, Refusal, type RefusalCode, type RefusalDetail } from "../errors.ts";
import { type ErrorDetail, ErrorDetailSchema } from "../gen/countersign/errors/v1/errors_pb.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";

/** Trailer for a google.rpc.Status, by convention of all gRPC implementations. */
const STATUS_DETAILS = "grpc-status-details-bin";

/** A refusal as it is sent, without its `reason` and cause. */
export const errorDetail = ({ code, detail }: Refusal): ErrorDetail =>
  create(ErrorDetailSchema, {
    error: code,
    errorDescription: detail.description ?? "",
    ...(detail.retryAfter !== undefined && { retryAfter: Math.ceil(detail.retryAfter) }),
    scope: detail.scope ?? "",
    ...(detail.dpopNonce !== undefined && { dpopNonce: detail.dpopNonce }),
    issues: (detail.issues ?? []).map(({ path, message }) => ({ path, message })),
  });

const isRefusalCode = (word: string): word is RefusalCode => Object.hasOwn(CATALOGUE, word);

/** A refusal that the core sent; undefined for a code that this release does not know. */
export function refusalOf(sent: ErrorDetail, cause?: unknown): Refusal | undefined {
  if (!isRefusalCode(sent.error)) return undefined;
  const detail: RefusalDetail = {
    ...(sent.errorDescription !== "" && { description: sent.errorDescription }),
    ...(sent.retryAfter !== undefined && { retryAfter: sent.retryAfter }),
    ...(sent.scope !== "" && { scope: sent.scope }),
    ...(sent.dpopNonce !== undefined && { dpopNonce: sent.dpopNonce }),
    ...(sent.issues.length > 0 && { issues: sent.issues.map(({ path, message }) => ({ path, message })) }),
    ...(cause !== undefined && { cause }),
  };
  return new Refusal(sent.error, "refused_by_core", detail);
}

/** The gRPC status for a thrown value; that of a fault has no details. */
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

/** Statuses of a call without a timely answer; its effect is unknown. */
const UNANSWERED: readonly unknown[] = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED];

/**
 * The refusal behind an error of a gRPC call; `temporarily_unavailable` when no answer came in time, or no core admits this front. Undefined
 * for a fault.
 */
export function asRefusal(error: unknown): Refusal | undefined {
  if (isRefusal(error)) return error;
  if (!(error instanceof Error) || !("code" in error) || !("metadata" in error) || !(error.metadata instanceof Metadata)) return undefined;
  const [packed] = error.metadata.get(STATUS_DETAILS);
  const detail = Buffer.isBuffer(packed) ? readStatus(packed) : undefined;
  if (detail !== undefined) return refusalOf(detail, error);
  if (UNANSWERED.includes(error.code)) return new Refusal("temporarily_unavailable", "core_unavailable", { retryAfter: 5, cause: error });
  // Of NOT_ADMITTED: the operator's fault, and not the caller's.
  if (error.code === status.UNAUTHENTICATED)
    return new Refusal("temporarily_unavailable", "front_not_admitted", { retryAfter: 5, cause: error });
  // The transport's own size limits have no detail.
  if (error.code === status.RESOURCE_EXHAUSTED) return new Refusal("payload_too_large", "message_too_large", { cause: error });
  return undefined;
}

function readStatus(packed: Buffer): ErrorDetail | undefined {
  try {
    const { details } = fromBinary(StatusSchema, packed);
    return details.map((detail) => anyUnpack(detail, ErrorDetailSchema)).find((detail) => detail !== undefined);
  } catch {
    return undefined; // a status of another service
  }
}
