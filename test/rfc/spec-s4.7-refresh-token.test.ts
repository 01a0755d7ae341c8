import { expect } from "vitest";
import { claimsOf } from "../support/flow.ts";
import { describe, test } from "../support/server.ts";

const RESOURCES = ["https://notes.example.test/mcp", "https://mail.example.test/mcp"];

describe("docs/protocol.md#refresh-tokens", () => {
  test("§3: rotation returns a new refresh token and no id_token", async ({ server }) => {
    const { web } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser, { scope: "openid notes:read", resource: RESOURCES });
    const { status, body } = await server.refresh(web, first.refresh_token);
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
    expect(body.refresh_token).toMatch(/^[0-9a-f]{64}$/);
    expect(body.refresh_token).not.toBe(first.refresh_token);
    expect(body.scope).toBe("openid notes:read");
    expect(claimsOf(body.access_token).aud).toEqual(RESOURCES);
  });

  test("abuse 23, §3: a replay of a rotated token revokes its whole family", async ({ server }) => {
    const { web } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser);
    const second = (await server.refresh(web, first.refresh_token)).body;
    const replay = await server.refresh(web, first.refresh_token);
    expect([replay.status, replay.body]).toEqual([400, { error: "invalid_grant" }]);
    expect((await server.refresh(web, second.refresh_token)).body).toEqual({ error: "invalid_grant" });
    expect((await server.introspect(web, second.access_token)).body).toEqual({ active: false });
  });

  test("abuse 24: 20 concurrent refreshes: exactly one succeeds, and the family is revoked", async ({ server }) => {
    const { web } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser);
    const answers = await Promise.all(Array.from({ length: 20 }, () => server.refresh(web, first.refresh_token)));
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(answers.filter(({ body }) => body.error === "invalid_grant")).toHaveLength(19);
    expect((await server.refresh(web, winners[0]?.body.refresh_token)).body).toEqual({ error: "invalid_grant" });
  });

  test("RFC 6749 §6: scope and resource narrow one response; the family keeps what was granted", async ({ server }) => {
    const { web } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser, {
      scope: "openid notes:read notes:write",
      resource: RESOURCES,
    });
    const narrow = (await server.refresh(web, first.refresh_token, { scope: "notes:read", resource: RESOURCES[0] })).body;
    expect(narrow.scope).toBe("notes:read");
    expect(claimsOf(narrow.access_token)).toMatchObject({ scope: "notes:read", aud: RESOURCES[0] });
    const full = (await server.refresh(web, narrow.refresh_token)).body;
    expect(full.scope).toBe("openid notes:read notes:write");
    expect(claimsOf(full.access_token).aud).toEqual(RESOURCES);
  });

  test("abuse 26: a wider scope or another resource is refused, and the token stays current", async ({ server }) => {
    const { web } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser, { scope: "notes:read", resource: RESOURCES[0] });
    expect((await server.refresh(web, first.refresh_token, { scope: "notes:read notes:write" })).body.error).toBe("invalid_scope");
    expect((await server.refresh(web, first.refresh_token, { scope: " " })).body.error).toBe("invalid_scope");
    expect((await server.refresh(web, first.refresh_token, { resource: RESOURCES[1] })).body.error).toBe("invalid_target");
    expect((await server.refresh(web, first.refresh_token)).status).toBe(200);
  });

  test("abuse 25: a confidential client without its secret is refused, and the family stays valid", async ({ server }) => {
    const { web } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser);
    const bare = await server.form("/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: first.refresh_token,
      client_id: web.clientId,
    });
    expect([bare.status, bare.body.error]).toEqual([401, "invalid_client"]);
    expect((await server.refresh(web, first.refresh_token)).status).toBe(200);
  });

  test("another client cannot use a refresh token, which stays valid for its own client", async ({ server }) => {
    const { web, other } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser);
    expect((await server.refresh(other, first.refresh_token)).body).toEqual({ error: "invalid_grant" });
    expect((await server.refresh(web, first.refresh_token)).status).toBe(200);
  });

  test("docs/protocol.md#refresh-tokens: an unknown value returns invalid_grant and revokes nothing", async ({ server }) => {
    const { web } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser);
    expect((await server.refresh(web, "0".repeat(64))).body).toEqual({ error: "invalid_grant" });
    expect((await server.refresh(web, first.refresh_token)).status).toBe(200);
  });

  test("§2.5: the login token set is refreshed by the built-in client without a secret", async ({ server }) => {
    const { login } = await server.signedInUser();
    const answer = await server.form("/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: login.refresh_token,
      client_id: "countersign",
    });
    expect(answer.status).toBe(200);
    expect(claimsOf(answer.body.access_token)).toMatchObject({ aud: server.url, scope: "openid profile email" });
  });
});
