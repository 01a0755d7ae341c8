import { createGuard, type GuardOptions, introspection, type Verification } from "@countersign/guard";
import { grpcIntrospection } from "@countersign/guard/grpc";
import type { TestServer } from "./server.ts";

/** A resource for which the provisioned client `agent` stands. */
export const RESOURCE = "https://crm.example.test/mcp";

type Access = { readonly clientId: string; readonly clientSecret: string; readonly timeoutSeconds?: number };

/** How the resource server of the tests proves itself. */
export const AS_RESOURCE_SERVER: Access = { clientId: "agent", clientSecret: "agent-secret" };

/** Introspection in both of its forms, against a running server. */
export const INTROSPECTION: Readonly<Record<string, (server: Pick<TestServer, "grpc">, access: Access) => Verification>> = {
  "over HTTP": (_, access) => introspection(access),
  "over gRPC": ({ grpc }, access) => grpcIntrospection({ ...access, address: `http://${grpc}` }),
};

export const KINDS = Object.keys(INTROSPECTION);

/** A guard before RESOURCE that takes the tokens of a running server. */
export const guardFor = ({ url }: Pick<TestServer, "url">, options: Partial<GuardOptions>) =>
  createGuard({ resource: RESOURCE, authorizationServers: [url], ...options });

/** A clock of its own for a guard; `turn` moves both of its hands by so many seconds. */
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
