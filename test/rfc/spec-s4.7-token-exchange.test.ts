import { expect } from "vitest";
import { statement } from "../../src/store/sql.ts";
import type { TestKey } from "../support/assertions.ts";
import { ACCESS_TOKEN, CRM, MAIL, ROOT, TOKEN_EXCHANGE, test } from "../support/delegation.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { basicAuth, claimsOf, headerOf } from "../support/flow.ts";
import { describe } from "../support/server.ts";

describe("docs/protocol.md#token-exchange", () => {
  test("§2.7: sub is the user, act is the agent, and the response has no refresh token", async ({ server }) => {
    const { user, subject } = await server.subjectFor(["agent-1"]);
    const { status, body, headers } = await server.exchange("agent-1", subject);
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "issued_token_type", "scope", "token_type"]);
    expect([body.issued_token_type, body.token_type]).toEqual([ACCESS_TOKEN, "Bearer"]);
    expect(headers.get("cache-control")).toBe("no-store");
    const claims = claimsOf(body.access_token);
    expect(claims).toMatchObject({ sub: user.id, client_id: "agent-1", act: { sub: "agent-1" }, token_use: "access" });
    expect(headerOf(body.access_token).typ).toBe("at+jwt");
    expect(claims.aud).toEqual(claimsOf(subject).aud);
    expect(body.scope).toBe("openid crm:read crm:write");
  });

  test("§2.12: every exchange writes one audit record with actor, chain and depth", async ({ server }) => {
    const { user, subject } = await server.subjectFor(["agent-1"]);
    const good = await server.exchange("agent-1", subject);
    expect(await server.auditOf(good)).toEqual([
      {
        event: "token.issued",
        outcome: "success",
        reason: null,
        actor_id: "agent-1",
        user_id: user.id,
        act_chain: ["agent-1"],
        depth: 1,
        grant_type: TOKEN_EXCHANGE,
      },
    ]);
    const bad = await server.exchange("agent-1", subject, { scope: "crm:admin" });
    expect(await server.auditOf(bad)).toMatchObject([
      {
        event: "token.refused",
        outcome: "failure",
        reason: "scope_wider_than_subject",
        actor_id: "agent-1",
        act_chain: ["agent-1"],
        depth: 1,
      },
    ]);
  });

  test("RFC 9449: a bound token is exchanged only with a proof, by a key of the agent", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const proof = (key: TestKey) => ({ dpop: aProof(key, { url: `${server.url}/oauth/token` }) });
    const code = await server.code(server.clients.web, browser, { scope: "openid crm:read", resource: [CRM, "agent-1"] });
    const redeemed = await server.form("/oauth/token", code, { authorization: basicAuth("web", "web-secret"), ...proof(proofKey()) });
    const subject: string = redeemed.body.access_token;
    expect((await server.exchange("agent-1", subject)).body.error).toBe("invalid_dpop_proof");
    const fields = { grant_type: TOKEN_EXCHANGE, subject_token: subject, subject_token_type: ACCESS_TOKEN };
    const key = proofKey();
    const agent = { authorization: basicAuth("agent-1", "agent-1-secret"), ...proof(key) };
    const { body } = await server.form("/oauth/token", fields, agent);
    expect([body.token_type, claimsOf(body.access_token).cnf]).toEqual(["DPoP", { jkt: thumbprintOf(key) }]);
  });

  test("rule 1, abuse 37: a client that is not an agent or lacks the grant gets unauthorized_client", async ({ server }) => {
    const { subject } = await server.subjectFor(["agent-1"]);
    for (const clientId of ["not-agent", "agent-without-grant"]) {
      const answer = await server.exchange(clientId, subject);
      expect([answer.status, answer.body.error]).toEqual([400, "unauthorized_client"]);
      expect(await server.auditOf(answer)).toMatchObject([{ outcome: "failure", actor_id: clientId }]);
    }
  });

  test("rule 2, abuse 37: a public agent gets invalid_client", async ({ server }) => {
    const { subject } = await server.subjectFor(["agent-1"]);
    const answer = await server.exchange("public-agent", subject);
    expect([answer.status, answer.body.error]).toEqual([401, "invalid_client"]);
  });

  test("rule 3, abuse 38: a subject token that is not a user's access token of this server returns invalid_request", async ({ server }) => {
    const { subject, tokens } = await server.subjectFor(["agent-1"]);
    const own = await server.token(server.agent("agent-1"), { grant_type: "client_credentials", scope: "crm:read" });
    const [header, payload, signature = ""] = subject.split(".");
    const forged = `${header}.${payload}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    for (const wrong of [tokens.id_token, tokens.refresh_token, own.body.access_token, forged, "a.b.c", "x"]) {
      const answer = await server.exchange("agent-1", wrong);
      expect([answer.status, answer.body.error, answer.body.access_token]).toEqual([400, "invalid_request", undefined]);
    }
  });

  test("rule 3, abuse 39: a subject token that is not meant for the agent returns invalid_request", async ({ server }) => {
    const { subject } = await server.subjectFor(["agent-2"]);
    const answer = await server.exchange("agent-1", subject);
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
  });

  test("rule 4: scope may only narrow and is inherited when omitted; openid returns no ID token, offline_access no refresh token", async ({
    server,
  }) => {
    const { subject } = await server.subjectFor(["agent-1"], { scope: "openid email offline_access crm:read crm:write" });
    const inherited = await server.exchange("agent-1", subject);
    expect(inherited.body.scope).toBe("openid email offline_access crm:read crm:write");
    expect(inherited.body).not.toHaveProperty("id_token");
    expect(inherited.body).not.toHaveProperty("refresh_token");
    expect((await server.exchange("agent-1", subject, { scope: "crm:read" })).body.scope).toBe("crm:read");
    expect((await server.exchange("agent-1", subject, { scope: "openid crm:read" })).body.scope).toBe("openid crm:read");
    for (const scope of ["crm:read crm:admin", " "]) {
      const wider = await server.exchange("agent-1", subject, { scope });
      expect([wider.status, wider.body.error]).toEqual([400, "invalid_scope"]);
    }
  });

  test("§5: a requested scope outside the agent's allowlist is refused, an inherited one is dropped", async ({ server }) => {
    const { subject } = await server.subjectFor(["reading-agent"], { scope: "openid email crm:read crm:write agent:readonly agent:admin" });
    expect((await server.exchange("reading-agent", subject)).body.scope).toBe("crm:read agent:readonly");
    for (const scope of ["crm:write", "crm:read crm:write", "openid", "agent:admin"]) {
      const answer = await server.exchange("reading-agent", subject, { scope });
      expect([answer.status, answer.body.error, answer.body.access_token]).toEqual([400, "invalid_scope", undefined]);
      expect(await server.auditOf(answer)).toMatchObject([{ outcome: "failure", reason: "scope_not_allowed" }]);
    }
    const { subject: writing } = await server.subjectFor(["reading-agent"], { scope: "crm:write" });
    const nothing = await server.exchange("reading-agent", writing);
    expect([nothing.status, nothing.body.scope]).toEqual([200, ""]);
  });

  test("rule 4: resource and audience together narrow to a subset of the subject token's audience", async ({ server }) => {
    const { subject } = await server.subjectFor(["agent-1"]);
    const one = await server.exchange("agent-1", subject, { resource: CRM });
    expect(claimsOf(one.body.access_token).aud).toBe(CRM);
    const both = await server.exchange("agent-1", subject, { resource: CRM, audience: [MAIL, "agent-1"] });
    expect(claimsOf(both.body.access_token).aud).toEqual([CRM, MAIL, "agent-1"]);
    for (const fields of [
      { resource: "https://elsewhere.example.test/" },
      { audience: "agent-2" },
      { audience: "unknown" },
      { resource: `${CRM}#part` },
    ]) {
      const answer = await server.exchange("agent-1", subject, fields);
      expect([answer.status, answer.body.error]).toEqual([400, "invalid_target"]);
    }
  });

  test("a disabled client is left out of aud at exchange and at refresh until it is enabled again", async ({ server }) => {
    const set = (enabled: boolean) =>
      server.database.sql.query(statement("test_enable", "update clients set enabled = $2 where client_id = $1"), ["agent-4", enabled]);
    const { subject, tokens } = await server.subjectFor(["agent-1", "agent-4"], { resource: [CRM, "agent-1", "agent-4"] });
    const refresh = (refreshToken: string, resource?: string) =>
      server.token(server.clients.web, { grant_type: "refresh_token", refresh_token: refreshToken, ...(resource && { resource }) });
    await set(false);
    expect(claimsOf((await server.exchange("agent-1", subject)).body.access_token).aud).toEqual([CRM, "agent-1"]);
    const alone = await server.exchange("agent-1", subject, { audience: "agent-4" });
    expect([alone.status, alone.body.error]).toEqual([400, "invalid_target"]);
    const nothing = await refresh(tokens.refresh_token, "agent-4");
    expect([nothing.status, nothing.body.error]).toEqual([400, "invalid_target"]);
    const without = await refresh(tokens.refresh_token);
    expect(claimsOf(without.body.access_token).aud).toEqual([CRM, "agent-1"]);
    await set(true);
    expect(claimsOf((await refresh(without.body.refresh_token)).body.access_token).aud).toEqual([CRM, "agent-1", "agent-4"]);
    expect(claimsOf((await server.exchange("agent-1", subject)).body.access_token).aud).toEqual([CRM, "agent-1", "agent-4"]);
  });

  test("a resource without a path equals one with the root path for narrowing, exchange and introspection; aud keeps the bound form", async ({
    server,
  }) => {
    const root = server.agent("root-rs");
    for (const [bound, other] of [
      [ROOT, `${ROOT}/`],
      [`${ROOT}/`, ROOT],
    ] as const) {
      const { subject, tokens } = await server.subjectFor(["agent-1"], { scope: "crm:read", resource: [bound, "agent-1"] });
      const exchanged = await server.exchange("agent-1", subject, { resource: other, audience: bound });
      const refresh = { grant_type: "refresh_token", refresh_token: tokens.refresh_token, resource: other };
      const refreshed = await server.token(server.clients.web, refresh);
      for (const { body } of [exchanged, refreshed]) {
        expect(claimsOf(body.access_token).aud).toBe(bound);
        expect((await server.introspect(root, body.access_token)).body).toMatchObject({ active: true, aud: bound });
        expect(await server.introspectOverGrpc("root-rs", body.access_token)).toMatchObject({ active: true });
      }
    }
    const own = await server.token(root, { grant_type: "client_credentials", scope: "crm:read", resource: `${ROOT}/` });
    expect(claimsOf(own.body.access_token).aud).toBe(ROOT);
    const deeper = await server.token(root, { grant_type: "client_credentials", scope: "crm:read", resource: `${ROOT}/?a` });
    expect([deeper.status, deeper.body.error]).toEqual([400, "invalid_target"]);
  });

  test("rule 5: an exchanged token never outlives its subject token", async ({ server }) => {
    const { subject } = await server.subjectFor(["agent-1"]);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { body } = await server.exchange("agent-1", subject);
    expect(body.expires_in).toBeLessThan(900);
    expect(claimsOf(body.access_token).exp).toBe(claimsOf(subject).exp);
  });

  test.for([
    ["an unsupported subject_token_type", { subject_token_type: "urn:ietf:params:oauth:token-type:jwt" }],
    ["an ID token as subject_token_type", { subject_token_type: "urn:ietf:params:oauth:token-type:id_token" }],
    ["an unsupported requested_token_type", { requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" }],
    ["no subject_token", { subject_token: "" }],
    ["no subject_token_type", { subject_token_type: "" }],
    ["actor_token without its type", { actor_token: "a.b.c" }],
    ["actor_token_type alone", { actor_token_type: ACCESS_TOKEN }],
    ["an unsupported actor_token_type", { actor_token: "a.b.c", actor_token_type: "urn:ietf:params:oauth:token-type:jwt" }],
  ] as const)("rule 6, abuse 37: %s returns invalid_request", async ([, fields], { server }) => {
    const { subject } = await server.subjectFor(["agent-1"]);
    const answer = await server.exchange("agent-1", subject, fields);
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
  });

  test("rule 6: an actor token is accepted only if it is the agent's own", async ({ server }) => {
    const { subject } = await server.subjectFor(["agent-1"]);
    const tokenOf = async (clientId: string) =>
      (await server.token(server.agent(clientId), { grant_type: "client_credentials", scope: "crm:read" })).body.access_token;
    const by = (actor_token: string) => server.exchange("agent-1", subject, { actor_token, actor_token_type: ACCESS_TOKEN });
    expect((await by(await tokenOf("agent-1"))).status).toBe(200);
    for (const wrong of [await tokenOf("agent-2"), subject, "a.b.c"]) {
      const answer = await by(wrong);
      expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
    }
  });

  test("rule 7: introspection over HTTP and gRPC returns a chain of four nested actors; a fifth actor returns invalid_request", async ({
    server,
  }) => {
    const agents = ["agent-1", "agent-2", "agent-3", "agent-4", "agent-5"];
    const { subject, user } = await server.subjectFor(agents);
    let token = subject;
    for (const agent of agents.slice(0, 4)) {
      const { status, body } = await server.exchange(agent, token);
      expect(status).toBe(200);
      token = body.access_token;
    }
    const act = { sub: "agent-4", act: { sub: "agent-3", act: { sub: "agent-2", act: { sub: "agent-1" } } } };
    expect(claimsOf(token).act).toEqual(act);
    const { body } = await server.introspect(server.agent("agent-5"), token);
    expect(body).toMatchObject({ active: true, sub: user.id, client_id: "agent-4", act });
    expect(await server.introspectOverGrpc("agent-5", token)).toMatchObject({ active: true, act });
    const fifth = await server.exchange("agent-5", token);
    expect([fifth.status, fifth.body.error]).toEqual([400, "invalid_request"]);
    expect(await server.auditOf(fifth)).toMatchObject([{ reason: "too_many_actors", depth: 5 }]);
  });

  test("§5: agent modes are independent scopes under the agent's ceiling", async ({ server }) => {
    const { subject } = await server.subjectFor(["agent-1", "agent-2"], { scope: "crm:read agent:readonly agent:admin agent:exec" });
    expect((await server.exchange("agent-1", subject, { scope: "agent:exec" })).body.scope).toBe("agent:exec");
    expect((await server.exchange("agent-2", subject)).body.scope).toBe("crm:read agent:readonly");
    const above = await server.exchange("agent-2", subject, { scope: "agent:admin" });
    expect([above.status, above.body.error]).toEqual([400, "invalid_scope"]);
    const { subject: execAlone } = await server.subjectFor(["agent-1"], { scope: "crm:read agent:exec" });
    const lesser = await server.exchange("agent-1", execAlone, { scope: "agent:readonly" });
    expect([lesser.status, lesser.body.error]).toEqual([400, "invalid_scope"]);
  });
});

describe("revocation along a chain", () => {
  test.for([
    ["the user's token is revoked", "root"],
    ["the first agent's token is revoked", "first"],
    ["the grant is revoked with its refresh token", "grant"],
  ] as const)("%s: every token below is inactive", async ([, which], { server }) => {
    const chain = await server.chainOf(["agent-1", "agent-2", "agent-3"]);
    const [root, first, second, third] = chain.accessTokens as [string, string, string, string];
    expect(await server.active(third)).toBe(true);
    const web = server.clients.web;
    if (which === "root") await server.revoke(web, root);
    if (which === "first") await server.revoke(server.agent("agent-1"), first);
    if (which === "grant") await server.revoke(web, chain.refreshToken);
    expect(await server.active(root)).toBe(which === "first");
    for (const below of [first, second, third]) {
      expect(await server.active(below)).toBe(false);
      expect((await server.userinfo(below)).status).toBe(401);
    }
    const next = await server.exchange("agent-3", second);
    expect([next.status, next.body.error]).toEqual([400, "invalid_request"]);
  });

  test("docs/protocol.md#sign-in: after a sign-out tokens stay active until they expire but cannot be exchanged", async ({ server }) => {
    const chain = await server.chainOf(["agent-1", "agent-2"]);
    const [root, first, second] = chain.accessTokens as [string, string, string];
    await fetch(new URL("/auth/logout", server.url), {
      method: "POST",
      headers: { authorization: `Bearer ${chain.user.login.access_token}` },
    });
    for (const token of [root, first, second]) expect(await server.active(token)).toBe(true);
    for (const [agent, token] of [
      ["agent-1", root],
      ["agent-2", first],
    ] as const) {
      const answer = await server.exchange(agent, token);
      expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
      expect(await server.auditOf(answer)).toMatchObject([{ reason: "subject_signed_out" }]);
    }
  });

  test("docs/protocol.md#sign-out: an agent or resource server that receives a user's token cannot sign the user out with it", async ({
    server,
  }) => {
    const chain = await server.chainOf(["agent-1"]);
    const logout = (token: string) =>
      fetch(new URL("/auth/logout", server.url), { method: "POST", headers: { authorization: `Bearer ${token}` } });
    for (const token of chain.accessTokens) {
      const answer = await logout(token);
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    }
    expect((await chain.user.browser.request("/consents/")).status).toBe(200);

    const { access_token: own } = await server.tokens(server.clients.web, chain.user.browser);
    expect((await logout(own)).status).toBe(200);
    expect((await chain.user.browser.request("/consents/")).status).toBe(401);
  });
});
