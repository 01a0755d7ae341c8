import { askOverGrpc, type GrpcAccess, grpcChannel } from "./grpc-channel.ts";
import { introspecting } from "./introspection.ts";
import { checkedTimeout } from "./resource-server.ts";
import { onlyIssuer, type Verification } from "./verification.ts";

export type { GrpcAccess } from "./grpc-channel.ts";

export interface GrpcIntrospectionOptions extends GrpcAccess {
  /** Seconds that a question may take. Default 2. */
  readonly timeoutSeconds?: number;
}

/**
 * Verification by introspection over gRPC: the same answers as over HTTP, on one connection that stays open. Needs `@grpc/grpc-js` and
 * `@bufbuild/protobuf` beside this package.
 * @throws {TypeError} when an option is wrong
 * @see RFC 7662, proto countersign.introspection.v1
 */
export function grpcIntrospection(options: GrpcIntrospectionOptions): Verification {
  const timeout = checkedTimeout(options.timeoutSeconds ?? 2);
  grpcChannel(options); // a mistake shows at once
  return (settings) => {
    onlyIssuer(settings.issuers);
    const channel = grpcChannel(options);
    return { verify: introspecting((token) => askOverGrpc(channel, token, timeout), settings), close: () => channel.close() };
  };
}
