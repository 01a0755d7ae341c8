import { askOverGrpc, type GrpcAccess, grpcChannel } from "./grpc-channel.ts";
import { introspecting } from "./introspection.ts";
import { verifying } from "./local-verification.ts";
import { assertOptions, between, CERTIFICATES, needed, type OptionTable, oneOf, TEXT } from "./option-table.ts";
import { GuardRefusal } from "./refusal.ts";
import { ASKING, checkedTimeout } from "./resource-server.ts";
import { endsOf } from "./revocation-marks.ts";
import { watchRevocations } from "./revocation-watch.ts";
import { onlyIssuer, type Verification } from "./verification.ts";

export type { GrpcAccess } from "./grpc-channel.ts";

export interface GrpcIntrospectionOptions extends GrpcAccess {
  /** Seconds that an introspection may take. Default 2. */
  readonly timeoutSeconds?: number;
}

const OPTIONS: OptionTable<GrpcIntrospectionOptions> = { ...ASKING, address: needed(TEXT), ca: CERTIFICATES };

/**
 * Verification by introspection over gRPC: the same answers as over HTTP, on one connection that stays open. Needs `@grpc/grpc-js` and
 * `@bufbuild/protobuf` beside this package.
 * @throws {TypeError} when an option is wrong
 * @see RFC 7662, proto countersign.introspection.v1
 */
export function grpcIntrospection(options: GrpcIntrospectionOptions): Verification {
  assertOptions("grpcIntrospection", options, OPTIONS);
  const timeout = checkedTimeout(options.timeoutSeconds ?? 2);
  grpcChannel(options); // throws for wrong options at once
  return (settings) => {
    onlyIssuer(settings.issuers);
    const channel = grpcChannel(options);
    return { verify: introspecting((token) => askOverGrpc(channel, token, timeout), settings), close: () => channel.close() };
  };
}

export interface RevocationOptions extends GrpcIntrospectionOptions {
  /** Seconds of silence after which the watch is stale. 2 to 300, default 5; the server sends a message every second. */
  readonly maxAgeSeconds?: number;
  /** What to do when the watch is stale: introspect each token (default), or refuse with 503. */
  readonly whenStale?: "introspect" | "refuse";
}

const REVOCATION_OPTIONS: OptionTable<RevocationOptions> = {
  ...OPTIONS,
  maxAgeSeconds: between(2, 300),
  whenStale: oneOf("introspect", "refuse"),
};

/**
 * Local verification that refuses a revoked token in well under a second: the server sends each revocation as it happens. A delegated token
 * names its ancestor tokens, and ends with each of them. A token of an earlier release that does not name them is introspected each time.
 * @throws {TypeError} when an option is wrong
 * @see proto countersign.introspection.v1, WatchRevocations
 */
export function localWithRevocations(options: RevocationOptions): Verification {
  assertOptions("localWithRevocations", options, REVOCATION_OPTIONS);
  const { maxAgeSeconds = 5, whenStale = "introspect" } = options;
  const timeout = checkedTimeout(options.timeoutSeconds ?? 2);
  grpcChannel(options); // throws for wrong options at once
  return (settings) => {
    onlyIssuer(settings.issuers);
    const channel = grpcChannel(options);
    const watch = watchRevocations(channel, settings.clocks);
    const verify = verifying(settings, endsOf);
    // Responses are not cached: the revocation events arrive sooner than a cached response would expire.
    const ask = introspecting((token) => askOverGrpc(channel, token, timeout), { ...settings, tokenCacheSize: 0 });
    return {
      async verify(token) {
        const { principal, note: ends } = await verify(token);
        if (ends === undefined) return ask(token);
        await watch.ready(timeout);
        if (watch.age() <= maxAgeSeconds) {
          if (watch.marks.anyEnded(ends)) throw new GuardRefusal("invalid_token", "token_revoked");
          return principal;
        }
        if (whenStale === "introspect") return ask(token);
        throw new GuardRefusal("temporarily_unavailable", "revocations_stale", { cause: watch.failure() });
      },
      close() {
        watch.close();
        channel.close();
      },
    };
  };
}
