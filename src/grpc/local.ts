import type { DescMessage, DescMethod, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { CallContext, TokenCoreImplementation } from "../core/ports.ts";
import { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";

export type { CallContext, TokenCoreImplementation };

/** The unary methods of the service. */
export type TokenCoreMethod = keyof TokenCoreImplementation;

/** The token core as a front sees it, in this process or over gRPC. Both throw `Refusal`. */
export type TokenCore = Pick<Client<typeof TokenCoreService>, TokenCoreMethod>;

/** Name and descriptor of every method of `TokenCore`. */
export const TOKEN_CORE_METHODS = Object.entries<DescMethod>(TokenCoreService.method).filter(
  (entry): entry is [TokenCoreMethod, DescMethodUnary] => entry[1].methodKind === "unary",
);

/** A method of `TokenCore` for generic code. */
export type AnyCall = (
  request: MessageInitShape<DescMessage>,
  options?: CallContext & { timeoutMs?: number },
) => Promise<MessageShape<DescMessage>>;

/** Builds a TokenCore method by method. */
export function tokenCoreOf(call: (name: TokenCoreMethod, method: DescMethodUnary) => AnyCall): TokenCore {
  // The entries come from the service's descriptor, so that every method of the type is there.
  return Object.fromEntries(TOKEN_CORE_METHODS.map(([name, method]) => [name, call(name, method)])) as unknown as TokenCore;
}

/** Calls the service directly: no encoding, no copy, refusals pass through. */
export function localTokenCore(implementation: TokenCoreImplementation): TokenCore {
  return tokenCoreOf((name, method) => {
    const run = implementation[name] as (request: unknown, context: CallContext) => Promise<MessageInitShape<DescMessage>>;
    return async (request, context = {}) => create(method.output, await run(create(method.input, request), context));
  });
}
