import { expect } from "vitest";
import { eitherScheme } from "../support/challenges.ts";
import { rawExchange } from "../support/raw.ts";
import { describe, test } from "../support/server.ts";

const RESOURCE = "https://crm.example.test/mcp";

describe("docs/protocol.md#introspection", () => {
  test("§2.9: returns the claims of an active token to the client that it was issued to", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const { access_token } = await server.tokens(web, ada.browser, { scope: "openid notes:read", resource: RESOURCE });
    const { status, body, headers } = await server.introspect(web, access_token);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      active: true,
      sub: ada.id,
      client_id: web.clientId,
      scope: "openid notes:read",
      aud: RESOURCE,
      iss: server.url,
      exp: body.exp,
      iat: body.exp - 900,
      token_type: "Bearer",
    });
  });

  test("docs/protocol.md#introspection: tokens for a resource of its audience are active for a resource server; abuse 43: others are inactive", async ({
    server,
  }) => {
    const { web, agent } = server.clients;
    const ada = await server.signedInUser();
    const forCrm = await server.tokens(web, ada.browser, { resource: RESOURCE });
    const forNotes = await server.tokens(web, ada.browser, { resource: "https://notes.example.test/mcp" });
    expect((await server.introspect(agent, forCrm.access_token)).body.active).toBe(true);
    expect((await server.introspect(agent, forNotes.access_token)).body).toEqual({ active: false });
  });

  test("abuse 44: refresh tokens, ID tokens and malformed tokens return only active: false", async ({ server }) => {
    const { web } = server.clients;
    const tokens = await server.tokens(web, (await server.signedInUser()).browser, { scope: "openid" });
    for (const value of [tokens.refresh_token, tokens.id_token, "rubbish", "a.b.c", `${tokens.access_token}x`]) {
      const { status, body } = await server.introspect(web, value);
      expect([status, body]).toEqual([200, { active: false }]);
    }
  });

  test("abuse 35: a public client and a caller without credentials get 401 invalid_client", async ({ server }) => {
    const { publicApp } = server.clients;
    const named = await server.form("/oauth/introspect", { token: "x", client_id: publicApp.clientId });
    const anonymous = await server.form("/oauth/introspect", { token: "x" });
    for (const { status, body, headers } of [named, anonymous]) {
      expect([status, body.error]).toEqual([401, "invalid_client"]);
      expect(headers.get("www-authenticate")).toMatch(/^Basic realm="/);
    }
  });

  test("RFC 7662 §2.1: a missing token returns invalid_request, and token_type_hint does not change the result", async ({ server }) => {
    const { worker } = server.clients;
    const headers = { authorization: `Basic ${btoa(`${worker.clientId}:${worker.secret}`)}` };
    expect((await server.form("/oauth/introspect", {}, headers)).body.error).toBe("invalid_request");
    const { body } = await server.token(worker, { grant_type: "client_credentials", scope: "notes:read" });
    const hinted = await server.form("/oauth/introspect", { token: body.access_token, token_type_hint: "refresh_token" }, headers);
    expect(hinted.body.active).toBe(true);
  });
});

describe("docs/protocol.md#revocation", () => {
  test("§3: a refresh token is revoked with its whole family and the access tokens issued from it", async ({ server }) => {
    const { web } = server.clients;
    const first = await server.tokens(web, (await server.signedInUser()).browser);
    const second = (await server.refresh(web, first.refresh_token)).body;
    const { status, body } = await server.revoke(web, second.refresh_token);
    expect([status, body]).toEqual([200, ""]);
    expect((await server.refresh(web, second.refresh_token)).body).toEqual({ error: "invalid_grant" });
    for (const token of [first.access_token, second.access_token]) {
      expect((await server.introspect(web, token)).body).toEqual({ active: false });
    }
  });

  test("an access token is revoked without its family", async ({ server }) => {
    const { web } = server.clients;
    const tokens = await server.tokens(web, (await server.signedInUser()).browser, { scope: "openid" });
    expect((await server.revoke(web, tokens.access_token)).status).toBe(200);
    expect((await server.introspect(web, tokens.access_token)).body).toEqual({ active: false });
    expect((await server.userinfo(tokens.access_token)).status).toBe(401);
    expect((await server.refresh(web, tokens.refresh_token)).status).toBe(200);
  });

  test("abuse 45: another client's token stays valid, with the same response", async ({ server }) => {
    const { web, other } = server.clients;
    const tokens = await server.tokens(web, (await server.signedInUser()).browser);
    for (const token of [tokens.access_token, tokens.refresh_token, "rubbish", "0".repeat(64)]) {
      const { status, body } = await server.revoke(other, token);
      expect([status, body]).toEqual([200, ""]);
    }
    expect((await server.introspect(web, tokens.access_token)).body.active).toBe(true);
    expect((await server.refresh(web, tokens.refresh_token)).status).toBe(200);
  });

  test("a failed authentication returns invalid_client, a missing token invalid_request", async ({ server }) => {
    const { web, publicApp } = server.clients;
    expect((await server.revoke({ ...web, secret: "wrong" }, "x")).body.error).toBe("invalid_client");
    const open = await server.form("/oauth/revoke", { token: "x", client_id: publicApp.clientId });
    expect([open.status, open.body.error]).toEqual([401, "invalid_client"]);
    expect((await server.revoke(web, "")).body.error).toBe("invalid_request");
  });

  test("client_secret_post is accepted from a client registered for client_secret_basic", async ({ server }) => {
    const { worker } = server.clients;
    const answer = await server.form("/oauth/revoke", { token: "x", client_id: worker.clientId, client_secret: worker.secret });
    expect([answer.status, answer.body]).toEqual([200, ""]);
  });
});

describe("docs/protocol.md#userinfo", () => {
  test("returns sub, and the verified email with scope email", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const { access_token } = await server.tokens(web, ada.browser, { scope: "openid email" });
    expect((await server.userinfo(access_token)).body).toEqual({ sub: ada.id, email: ada.email, email_verified: true });
    const posted = await fetch(new URL("/oauth/userinfo", server.url), {
      method: "POST",
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(await posted.json()).toEqual({ sub: ada.id, email: ada.email, email_verified: true });
  });

  test("RFC 6750 §2.2: takes the token as a member of a form too, but not beside the header or in a query", async ({ server }) => {
    const { web, worker } = server.clients;
    const ada = await server.signedInUser();
    const { access_token } = await server.tokens(web, ada.browser, { scope: "openid" });
    const [form, header] = [{ access_token }, { authorization: `Bearer ${access_token}` }];
    expect((await server.form("/oauth/userinfo", form)).body).toEqual({ sub: ada.id });
    expect((await server.form("/oauth/userinfo", {}, header)).body).toEqual({ sub: ada.id });

    const both = await server.form("/oauth/userinfo", form, header);
    expect([both.status, both.body.error]).toEqual([400, "invalid_request"]);
    expect(both.headers.get("www-authenticate")).toContain('error="invalid_request"');
    const queried = await server.form(`/oauth/userinfo?access_token=${access_token}`, {});
    expect([queried.status, queried.body.error]).toEqual([400, "invalid_request"]);
    const repeated = await server.form("/oauth/userinfo", { access_token: [access_token, access_token] });
    expect([repeated.status, repeated.body.error]).toEqual([400, "invalid_request"]);
    expect(repeated.headers.get("www-authenticate")).toContain('error="invalid_request"');
    const headers = [
      ["Authorization", header.authorization],
      ["authorization", header.authorization],
    ] as const;
    const twice = await rawExchange(server.url, { method: "GET", target: "/oauth/userinfo", headers });
    expect([twice.status, twice.headers.get("www-authenticate")]).toEqual([400, expect.stringContaining('error="invalid_request"')]);
    const own = await server.token(worker, { grant_type: "client_credentials", scope: "notes:read" });
    const refused = await server.form("/oauth/userinfo", { access_token: own.body.access_token });
    expect([refused.status, refused.body.error]).toEqual([401, "invalid_token"]);
    const bare = await server.form("/oauth/userinfo", {});
    expect([bare.status, bare.headers.get("www-authenticate")]).toEqual([401, eitherScheme(server.url)]);
  });

  test("OIDC Core §5.3.2: omits claims without their scope", async ({ server }) => {
    const { web } = server.clients;
    const ada = await server.signedInUser();
    const { access_token } = await server.tokens(web, ada.browser, { scope: "openid" });
    expect((await server.userinfo(access_token)).body).toEqual({ sub: ada.id });
  });

  test("RFC 6750 §3: each refusal has its challenge", async ({ server }) => {
    const { web, worker } = server.clients;
    const ada = await server.signedInUser();
    const bare = await server.get("/oauth/userinfo");
    expect([bare.status, bare.headers.get("www-authenticate")]).toEqual([401, eitherScheme(server.url)]);
    const own = (await server.token(worker, { grant_type: "client_credentials", scope: "notes:read" })).body.access_token;
    const { id_token, access_token } = await server.tokens(web, ada.browser, { scope: "openid" });
    for (const token of ["rubbish", own, id_token, `${access_token}x`]) {
      const refused = await server.userinfo(token);
      expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    }
    const narrow = await server.tokens(web, ada.browser, { scope: "notes:read" });
    const lacking = await server.userinfo(narrow.access_token);
    expect([lacking.status, lacking.headers.get("www-authenticate")]).toEqual([
      403,
      expect.stringMatching(/error="insufficient_scope".*scope="openid"/),
    ]);
  });
});
