import { expect } from "vitest";
import { basicAuth, claimsOf } from "../support/flow.ts";
import { describe, test } from "../support/server.ts";

const grant = { grant_type: "client_credentials" };

describe("docs/protocol.md#client-credentials", () => {
  test("§2.7: sub is the client_id, and there is no refresh token and no id_token", async ({ server }) => {
    const { worker } = server.clients;
    const { status, body } = await server.token(worker, { ...grant, scope: "notes:read" });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "scope", "token_type"]);
    const claims = claimsOf(body.access_token);
    expect(claims).toEqual({
      iss: server.url,
      sub: worker.clientId,
      aud: worker.clientId,
      client_id: worker.clientId,
      scope: "notes:read",
      iat: claims.iat,
      exp: claims.iat + 900,
      jti: claims.jti,
      token_use: "access",
    });
  });

  test.for([
    ["no scope", {}, "invalid_scope"],
    ["an empty scope", { scope: "" }, "invalid_scope"],
    ["a scope that is not allowed", { scope: "notes:read admin" }, "invalid_scope"],
    ["openid", { scope: "openid" }, "invalid_scope"],
    ["a resource that is not allowed", { scope: "notes:read", resource: "https://x.example.test/" }, "invalid_target"],
  ] as const)("abuse 36: refuses a request with %s", async ([, fields, error], { server }) => {
    const answer = await server.token(server.clients.worker, { ...grant, ...fields });
    expect([answer.status, answer.body.error, answer.body.access_token]).toEqual([400, error, undefined]);
  });

  test("§2.2: resource must be within the client's audience, which is also the default", async ({ server }) => {
    const { agent } = server.clients;
    const all = await server.token(agent, { ...grant, scope: "crm:read" });
    expect(claimsOf(all.body.access_token).aud).toEqual(["https://crm.example.test/mcp", "https://mail.example.test/mcp"]);
    const one = await server.token(agent, { ...grant, scope: "crm:read", resource: "https://crm.example.test/mcp" });
    expect(claimsOf(one.body.access_token).aud).toBe("https://crm.example.test/mcp");
  });

  test("§7.1: invalid_target says that a URI, another client and any other text lie outside of the audience", async ({ server }) => {
    const { agent, worker } = server.clients;
    for (const resource of ["https://x.example.test/", agent.clientId, "<script>"]) {
      const answer = await server.token(worker, { ...grant, scope: "notes:read", resource });
      const description = "A resource lies outside of the client's audience.";
      expect(answer.body).toEqual({ error: "invalid_target", error_description: description });
    }
  });

  test("§7.1: a client without the grant and a public client get unauthorized_client", async ({ server }) => {
    const lacking = await server.token(server.clients.oneShot, { ...grant, scope: "notes:read" });
    expect([lacking.status, lacking.body.error]).toEqual([400, "unauthorized_client"]);
    const open = await server.token(server.clients.publicApp, { ...grant, scope: "notes:read" });
    expect([open.status, open.body.error]).toEqual([400, "unauthorized_client"]);
  });
});

describe("docs/protocol.md#client-authentication", () => {
  test.for([
    ["a wrong secret", { secret: "wrong" }, {}],
    ["an unknown client", { clientId: "unknown" }, {}],
    ["basic and client_secret_post together", {}, { client_id: "worker", client_secret: "worker-secret" }],
    [
      "basic and an assertion together",
      {},
      { client_assertion: "a.b.c", client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" },
    ],
    ["another client_id in the body", {}, { client_id: "web" }],
  ] as const)("abuse 27, 28: %s returns invalid_client", async ([, change, fields], { server }) => {
    const answer = await server.token({ ...server.clients.worker, ...change }, { ...grant, scope: "notes:read", ...fields });
    expect([answer.status, answer.body.error]).toEqual([401, "invalid_client"]);
    expect(answer.headers.get("www-authenticate")).toMatch(/^Basic realm="/);
  });

  test("a client may send its secret in the header or in the body, whichever is registered", async ({ server }) => {
    const { worker, poster } = server.clients;
    for (const { clientId, secret = "" } of [worker, poster]) {
      const fields = { ...grant, scope: "notes:read" };
      const posted = await server.form("/oauth/token", { ...fields, client_id: clientId, client_secret: secret });
      const basic = await server.form("/oauth/token", fields, { authorization: basicAuth(clientId, secret) });
      expect([clientId, posted.status, basic.status]).toEqual([clientId, 200, 200]);
      const wrong = await server.form("/oauth/token", { ...fields, client_id: clientId, client_secret: "wrong" });
      expect([wrong.status, wrong.body.error]).toEqual([401, "invalid_client"]);
    }
  });

  test("abuse 29: a secret in the query is refused", async ({ server }) => {
    const answer = await server.form("/oauth/token?client_secret=worker-secret", { ...grant, scope: "notes:read", client_id: "worker" });
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
  });

  test("a disabled client is refused", async ({ server }) => {
    const answer = await server.token(server.clients.disabled, { ...grant, scope: "notes:read" });
    expect([answer.status, answer.body.error]).toEqual([401, "invalid_client"]);
  });

  test("RFC 6749 §2.3.1: a client_id that is a URN is accepted form-encoded in Basic", async ({ server }) => {
    expect((await server.token(server.clients.urn, { ...grant, scope: "notes:read" })).status).toBe(200);
  });
});

describe("docs/protocol.md#errors", () => {
  test.for(["password", "implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer", "urn:openid:params:grant-type:ciba"])(
    "abuse 40: grant_type %s returns unsupported_grant_type, also with a wrong secret",
    async (grant_type, { server }) => {
      for (const client of [server.clients.worker, { ...server.clients.worker, secret: "wrong" }]) {
        const answer = await server.token(client, { grant_type, assertion: "a.b.c" });
        expect([answer.status, answer.body.error]).toEqual([400, "unsupported_grant_type"]);
        expect(answer.body.error_description).toMatch(
          /^grant_type must be one of authorization_code, refresh_token, client_credentials, urn/,
        );
        expect(answer.body.error_description).not.toContain(grant_type);
      }
    },
  );

  test("a missing grant_type returns invalid_request", async ({ server }) => {
    expect((await server.token(server.clients.worker, {})).body.error).toBe("invalid_request");
  });
});
