import { createGuard, type GuardOptions, introspection, type Verification } from "@countersign/guard";
import { grpcIntrospection } from "@countersign/guard/grpc";
import type { TestServer } from "./server.ts";

/** A resource of the provisioned client `agent`. */
export const RESOURCE = "https://crm.example.test/mcp";

type Access = { readonly clientId: string; readonly clientSecret: string; readonly timeoutSeconds?: number };

/** The credentials of the resource server in tests. */
export const AS_RESOURCE_SERVER: Access = { clientId: "agent", clientSecret: "agent-secret" };

/** Both kinds of introspection, at a running server. */
export const INTROSPECTION: Readonly<Record<string, (server: Pick<TestServer, "grpc">, access: Access) => Verification>> = {
  "over HTTP": (_, access) => introspection(access),
  "over gRPC": ({ grpc }, access) => grpcIntrospection({ ...access, address: `http://${grpc}` }),
};

export const KINDS = Object.keys(INTROSPECTION);

/** A guard for RESOURCE that accepts the tokens of a running server. */
export const guardFor = ({ url }: Pick<TestServer, "url">, options: Partial<GuardOptions>) =>
  createGuard({ resource: RESOURCE, authorizationServers: [url], ...options });

/** A clock for a guard; `turn` advances both the time and the elapsed time. */
export function aGuardClock() {
  let now = Math.floor(Date.now() / 1000);
  let elapsed = 0;
  return {
    clocks: { now: () => now, elapsed: () => elapsed },
    turn(seconds: number) {
      now += seconds;
      elapsed += seconds;
    },
  };
}
