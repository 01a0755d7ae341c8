import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";

type Method = (typeof TokenCoreService)["method"];

/** What a call brings along besides its message. */
export interface CallContext {
  /** Aborted when the caller has gone or its deadline has passed. */
  readonly signal?: AbortSignal | undefined;
}

/** The service's implementation: one function a method, from a full message to the members of the answer. */
export type TokenCoreImplementation = {
  readonly [M in keyof Method as Method[M]["methodKind"] extends "unary" ? M : never]: (
    request: MessageShape<Method[M]["input"]>,
    context: CallContext,
  ) => Promise<MessageInitShape<Method[M]["output"]>>;
};
