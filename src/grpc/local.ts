import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { CallContext, TokenCoreImplementation } from "../core/implementation.ts";
import { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";

export type { CallContext, TokenCoreImplementation };

/** The token core as a front sees it, in this process or over gRPC. Refuses with `Refusal` in both. */
export type TokenCore = Pick<Client<typeof TokenCoreService>, keyof TokenCoreImplementation>;

/** The service called directly, without a wire: no encoding, no copy, refusals pass through as they were thrown. */
export function localTokenCore(implementation: TokenCoreImplementation): TokenCore {
  const methods = Object.entries(implementation).map(([name, run]) => {
    const { input, output } = TokenCoreService.method[name as keyof TokenCoreImplementation];
    const answer = run as (request: unknown, context: CallContext) => Promise<MessageInitShape<DescMessage>>;
    const call = async (request: MessageInitShape<DescMessage>, options?: CallContext) =>
      create(output as DescMessage, await answer(create(input as DescMessage, request), { signal: options?.signal }));
    return [name, call];
  });
  // Built from every method of the implementation, whose type names them all.
  return Object.fromEntries(methods) as TokenCore;
}
