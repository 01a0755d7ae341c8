import { expect } from "vitest";
import { claimsOf, headerOf } from "../support/flow.ts";
import { describe, test } from "../support/server.ts";

const RESOURCE = "https://notes.example.test/mcp";

describe("docs/protocol.md#authorization-code", () => {
  test("§2.6, §2.7, §2.8: the token response and its tokens have exactly these members and claims", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const body = await server.tokens(web, ada.browser, { scope: "openid email notes:read", resource: RESOURCE, nonce: "n-1" });
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "id_token", "refresh_token", "scope", "token_type"]);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 900, scope: "openid email notes:read" });
    expect(body.refresh_token).toMatch(/^[0-9a-f]{64}$/);

    const { kid } = headerOf(body.access_token);
    expect(headerOf(body.access_token)).toEqual({ alg: "EdDSA", typ: "at+jwt", kid });
    const access = claimsOf(body.access_token);
    expect(access).toEqual({
      iss: server.url,
      sub: ada.id,
      aud: RESOURCE,
      client_id: web.clientId,
      scope: "openid email notes:read",
      iat: access.iat,
      exp: access.iat + 900,
      jti: access.jti,
      token_use: "access",
    });
    const id = claimsOf(body.id_token);
    expect(headerOf(body.id_token)).toEqual({ alg: "EdDSA", typ: "JWT", kid });
    expect(id).toEqual({
      iss: server.url,
      sub: ada.id,
      aud: web.clientId,
      exp: id.iat + 900,
      iat: id.iat,
      auth_time: id.auth_time,
      nonce: "n-1",
      email: ada.email,
      email_verified: true,
    });
    expect(id.auth_time).toBeLessThanOrEqual(id.iat);
  });

  test("RFC 6749 §5.1: the response is not cacheable", async ({ server }) => {
    const ada = await server.signedInUser();
    const answer = await server.token(server.clients.web, await server.code(server.clients.web, ada.browser));
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("pragma")).toBe("no-cache");
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  });

  test("there is no id_token without openid, and no email claim without a verified address", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser({ verified: false });
    expect(await server.tokens(web, ada.browser, { scope: "notes:read" })).not.toHaveProperty("id_token");
    const { id_token } = await server.tokens(web, ada.browser, { scope: "openid email" });
    expect(claimsOf(id_token)).not.toHaveProperty("email");
  });

  test("RFC 9068 §3: without resource the audience is the client_id", async ({ server }) => {
    const { publicApp } = server.clients;
    const ada = await server.signedInUser();
    expect(claimsOf((await server.tokens(publicApp, ada.browser)).access_token).aud).toBe(publicApp.clientId);
  });

  test("docs/protocol.md#refresh-tokens: a client without the refresh_token grant gets no refresh token", async ({ server }) => {
    const ada = await server.signedInUser();
    expect(await server.tokens(server.clients.oneShot, ada.browser)).not.toHaveProperty("refresh_token");
  });

  test("RFC 8707 §2.2: resource narrows to a subset of the bound resources; any other returns invalid_target and does not consume the code", async ({
    server,
  }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const code = await server.code(web, ada.browser, { resource: [RESOURCE, "https://mail.example.test/mcp"] });
    const foreign = await server.token(web, { ...code, resource: "https://other.example.test/" });
    expect([foreign.status, foreign.body.error]).toEqual([400, "invalid_target"]);
    const good = await server.token(web, { ...code, resource: RESOURCE });
    expect(claimsOf(good.body.access_token).aud).toBe(RESOURCE);
  });

  test("abuse 18: a replayed code is refused and revokes the tokens that it issued", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const code = await server.code(web, ada.browser, { scope: "openid notes:read" });
    const { body } = await server.token(web, code);
    expect((await server.userinfo(body.access_token)).status).toBe(200);
    const replay = await server.token(web, code);
    expect([replay.status, replay.body]).toEqual([400, { error: "invalid_grant" }]);
    expect((await server.refresh(web, body.refresh_token)).body).toEqual({ error: "invalid_grant" });
    expect((await server.introspect(web, body.access_token)).body).toEqual({ active: false });
    expect((await server.userinfo(body.access_token)).status).toBe(401);
  });

  test("OAuth 2.1 §7.5.2: a replay with a wrong verifier revokes nothing", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const code = await server.code(web, ada.browser, { scope: "openid notes:read" });
    const { body } = await server.token(web, code);
    expect((await server.token(web, { ...code, code_verifier: "x".repeat(43) })).body).toEqual({
      error: "invalid_grant",
      error_description: "code_verifier does not match code_challenge.",
    });
    expect((await server.introspect(web, body.access_token)).body.active).toBe(true);
  });

  test("abuse 19: 20 concurrent redemptions of a code: exactly one succeeds, and its tokens are revoked", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const code = await server.code(web, ada.browser);
    const answers = await Promise.all(Array.from({ length: 20 }, () => server.token(web, code)));
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(answers.filter(({ status, body }) => status === 400 && body.error === "invalid_grant")).toHaveLength(19);
    const won = winners[0]?.body;
    expect((await server.refresh(web, won.refresh_token)).status).toBe(400);
    expect((await server.introspect(web, won.access_token)).body).toEqual({ active: false });
  });

  test("abuse 20: a missing code_verifier returns invalid_request, a wrong one invalid_grant, and the right one still succeeds", async ({
    server,
  }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const code = await server.code(web, ada.browser);
    expect((await server.token(web, { ...code, code_verifier: undefined })).body.error).toBe("invalid_request");
    expect((await server.token(web, { ...code, code_verifier: "y".repeat(64) })).body.error).toBe("invalid_grant");
    expect((await server.token(web, code)).status).toBe(200);
  });

  test("abuse 21: another client cannot redeem a code, which stays valid for its own client", async ({ server }) => {
    const { web, other } = server.clients;
    const ada = await server.signedInUser();
    const code = await server.code(web, ada.browser);
    expect((await server.token(other, code)).body).toEqual({ error: "invalid_grant" });
    expect((await server.token(web, code)).status).toBe(200);
  });

  test("a missing redirect_uri returns invalid_request, another one invalid_grant", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const code = await server.code(web, ada.browser);
    expect((await server.token(web, { ...code, redirect_uri: undefined })).body.error).toBe("invalid_request");
    expect((await server.token(web, { ...code, redirect_uri: `${web.redirectUri}/` })).body.error).toBe("invalid_grant");
  });

  test("a public client redeems a code with only its client_id", async ({ server }) => {
    const ada = await server.signedInUser();
    expect((await server.token(server.clients.publicApp, await server.code(server.clients.publicApp, ada.browser))).status).toBe(200);
  });
});
