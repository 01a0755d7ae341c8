import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";

/** The methods of one question and one answer. `converse` is only another way to carry them. */
type Method = Omit<(typeof TokenCoreService)["method"], "converse">;

/** What a call brings along besides its message. */
export interface CallContext {
  /** Aborted when the caller has gone or its deadline has passed. */
  readonly signal?: AbortSignal | undefined;
  /** Seconds since the epoch by the database's clock: after it nothing of this call may take effect, for its caller has given up. */
  readonly notAfter?: number | undefined;
}

/** The service's implementation: one function a method, from a full message to the members of the answer. */
export type TokenCoreImplementation = {
  readonly [M in keyof Method]: (
    request: MessageShape<Method[M]["input"]>,
    context: CallContext,
  ) => Promise<MessageInitShape<Method[M]["output"]>>;
};
