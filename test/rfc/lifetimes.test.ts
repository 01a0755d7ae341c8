import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { statement } from "../../src/store/sql.ts";
import { claimsOf } from "../support/flow.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ env: { ACCESS_TOKEN_TTL: "1" } });
});
afterAll(() => server.close());

/** Waits until the exp of a token has passed. */
const pastExpiry = (token: string) => setTimeout(Math.max(0, claimsOf(token).exp * 1000 - Date.now()));

describe("expired codes and tokens", () => {
  test("docs/protocol.md#authorization-code-rules: a code older than AUTHORIZATION_CODE_TTL returns invalid_grant", async () => {
    const { web } = server.clients;
    const code = await server.code(web, (await server.signedInUser()).browser);
    await server.database.sql.query(statement("test_old_codes", "update authorization_codes set expires_at = now()"), []);
    expect((await server.token(web, code)).body).toEqual({ error: "invalid_grant" });
  });

  test("an expired access token is inactive and returns 401 at userinfo; an expired refresh token returns invalid_grant", async () => {
    const ada = await server.signedInUser();
    const { web } = server.clients;
    const tokens = await server.tokens(web, ada.browser, { scope: "openid" });
    expect(tokens.expires_in).toBe(1);
    await pastExpiry(tokens.access_token);
    await server.database.sql.query(statement("test_old_families", "update refresh_families set expires_at = now()"), []);
    expect((await server.introspect(web, tokens.access_token)).body).toEqual({ active: false });
    expect((await server.userinfo(tokens.access_token)).status).toBe(401);
    expect((await server.refresh(web, tokens.refresh_token)).body).toEqual({ error: "invalid_grant" });
  });

  test("docs/protocol.md#sign-out: logout accepts an expired access token", async () => {
    const ada = await server.signedInUser();
    await pastExpiry(ada.login.access_token);
    const out = await ada.browser.json("/auth/logout", {}, "POST", { authorization: `Bearer ${ada.login.access_token}` });
    expect([out.status, out.body]).toEqual([200, { success: true, message: "Successfully logged out" }]);
    const after = await server.form("/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: ada.login.refresh_token,
      client_id: "countersign",
    });
    expect(after.body).toEqual({ error: "invalid_grant" });
  });
});
