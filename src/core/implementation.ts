import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";

/** The unary methods. The core stream only carries the same calls. */
type Method = Omit<(typeof TokenCoreService)["method"], "converse">;

/** What accompanies the message of a call. */
export interface CallContext {
  /** Aborted when the caller has gone or its deadline has passed. */
  readonly signal?: AbortSignal | undefined;
  /** Seconds since the epoch by the database's clock: after it this call must have no effect, because its caller has given up. */
  readonly notAfter?: number | undefined;
}

/** The service's implementation: one function a method, from a full message to the members of the answer. */
export type TokenCoreImplementation = {
  readonly [M in keyof Method]: (
    request: MessageShape<Method[M]["input"]>,
    context: CallContext,
  ) => Promise<MessageInitShape<Method[M]["output"]>>;
};
