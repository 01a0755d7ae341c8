import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";

/** The token core as a front sees it, in this process or over gRPC. Refuses with `Refusal` in both. */
export type TokenCore = Client<typeof TokenCoreService>;

/** What a call brings along besides its message. */
export interface CallContext {
  /** Aborted when the caller has gone or its deadline has passed. */
  readonly signal?: AbortSignal | undefined;
}

type Method = (typeof TokenCoreService)["method"];

/** The service's implementation: one function a method, from a full message to the members of the answer. */
export type TokenCoreImplementation = {
  readonly [M in keyof Method]: (
    request: MessageShape<Method[M]["input"]>,
    context: CallContext,
  ) => Promise<MessageInitShape<Method[M]["output"]>>;
};

/** The service called directly, without a wire: no encoding, no copy, refusals pass through as they were thrown. */
export function localTokenCore(implementation: TokenCoreImplementation): TokenCore {
  const methods = Object.entries(TokenCoreService.method).map(([name, method]) => {
    const run = implementation[name as keyof Method] as (request: unknown, context: CallContext) => Promise<MessageInitShape<DescMessage>>;
    const call = async (request: MessageInitShape<DescMessage>, options?: CallContext) =>
      create(method.output as DescMessage, await run(create(method.input as DescMessage, request), { signal: options?.signal }));
    return [name, call];
  });
  // The entries are built from the service's own descriptor, so that every method of the type is there.
  return Object.fromEntries(methods) as TokenCore;
}
