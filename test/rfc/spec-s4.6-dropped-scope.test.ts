import type { AdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminAs } from "../support/admin.ts";
import { CHALLENGE } from "../support/builders.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: AdminClient;
beforeAll(async () => {
  server = await startServer({ env: { LOG_LEVEL: "info" } });
  admin = (await adminAs(server.url)).admin;
});
afterAll(() => server.close());

const parameters = (scope: string) => ({
  response_type: "code",
  client_id: "web",
  redirect_uri: server.clients.web.redirectUri ?? "",
  code_challenge: CHALLENGE,
  code_challenge_method: "S256",
  state: "s",
  scope,
});
const authorize = (scope: string) => server.get(`/oauth/authorize?${new URLSearchParams(parameters(scope))}`);
const dropped = (requestId: string | null) =>
  server.logged.map((line) => JSON.parse(line)).filter(({ event, requestId: id }) => event === "scope_dropped" && id === requestId);

describe("docs/protocol.md#scopes: scope outside the client's allowlist", () => {
  test("is dropped, and logged with client and rule", async () => {
    const answer = await authorize("openid admin notes:read sudo");
    expect(answer.headers.get("location")).toMatch(/^\/login/);
    expect(dropped(answer.headers.get("x-request-id"))).toMatchObject([
      { level: 30, clientId: "web", scope: "admin sudo", rule: "scope_allowed" },
    ]);
  });

  test("is not logged if there is none", async () => {
    const answer = await authorize("openid notes:read");
    expect(dropped(answer.headers.get("x-request-id"))).toEqual([]);
  });

  test.for([
    ["admin", "admin"],
    ["offline_access", undefined],
    ["offline_access admin sudo", "admin sudo"],
  ] as const)("returns invalid_scope if nothing but offline_access is left, and is logged: %s", async ([scope, lost]) => {
    const { headers } = await authorize(scope);
    const location = new URL(headers.get("location") ?? "");
    expect([location.searchParams.get("error"), location.searchParams.get("state")]).toEqual(["invalid_scope", "s"]);
    expect(dropped(headers.get("x-request-id")).map((line) => line.scope)).toEqual(lost === undefined ? [] : [lost]);
  });

  test("is returned as droppedScope by explain", async () => {
    const explained = await admin.operator.explain.authorizationRequest.mutate({ parameters: parameters("openid admin notes:read") });
    expect(explained).toMatchObject({ droppedScope: ["admin"], granted: { scope: "openid notes:read", aud: ["web"], idToken: true } });
    expect(explained.rules.map(({ rule, verdict }) => [rule, verdict])).toEqual([
      ["client_and_redirect_uri", "passed"],
      ["authorization_form", "passed"],
      ["grant_held", "passed"],
      ["scope_allowed", "passed"],
      ["authorization_parameters", "passed"],
    ]);
    const refused = await admin.operator.explain.authorizationRequest.mutate({ parameters: parameters("offline_access") });
    expect(refused.granted).toBeUndefined();
    expect(refused.rules[3]).toMatchObject({ rule: "scope_allowed", verdict: "refused", error: "invalid_scope", reason: "no_scope_left" });
    const unknown = await admin.operator.explain.authorizationRequest.mutate({
      parameters: { ...parameters("openid"), client_id: "unknown" },
    });
    expect(unknown.rules[0]).toMatchObject({ verdict: "refused", error: "invalid_client" });
  });
});
