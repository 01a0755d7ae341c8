import { expect } from "vitest";
import { adminAs } from "../support/admin.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { type Answer, basicAuth, claimsOf } from "../support/flow.ts";
import { describe, type TestServer, test } from "../support/server.ts";

const key = proofKey();
const fields = { grant_type: "client_credentials", scope: "notes:read" };
const tokenUrl = ({ url }: TestServer): string => `${url}/oauth/token`;
const worker = { authorization: basicAuth("worker", "worker-secret") };
const grant = (server: TestServer, proof: string, headers: Record<string, string> = worker): Promise<Answer> =>
  server.form("/oauth/token", fields, { ...headers, dpop: proof });

describe("RFC 9449 §5: token requests with a proof", () => {
  test("a proof binds the token to its key", async ({ server }) => {
    const { status, body } = await grant(server, aProof(key, { url: tokenUrl(server) }));
    expect([status, body.token_type, claimsOf(body.access_token).cnf]).toEqual([200, "DPoP", { jkt: thumbprintOf(key) }]);
  });

  test.for([
    ["another URL", { url: "https://other.example.test/oauth/token" }],
    ["the Host of the request instead of the issuer", { url: "http://localhost/oauth/token" }],
    ["another method", { method: "GET" }],
    ["no claims", { claims: { htm: undefined } }],
    ["an earlier time", { claims: { iat: Math.floor(Date.now() / 1_000) - 400 } }],
    ["a later time (RFC 7519 §4.1.5)", { claims: { nbf: Math.floor(Date.now() / 1_000) + 400 } }],
    ["a key that did not sign it", { header: { jwk: proofKey().jwk } }],
  ] as const)("rejects a proof for %s", async ([, change], { server }) => {
    const { status, body } = await grant(server, aProof(key, { url: tokenUrl(server), ...change }));
    expect([status, body.error, body.access_token]).toEqual([400, "invalid_dpop_proof", undefined]);
    expect(body.error_description).toMatch(/^[A-Z].*DPoP.*\.$/);
  });

  test("rejects two DPoP headers", async ({ server }) => {
    const proofs = [aProof(key, { url: tokenUrl(server) }), aProof(key, { url: tokenUrl(server) })];
    const body = new URLSearchParams(fields);
    const headers = [
      ...proofs.map((proof): [string, string] => ["dpop", proof]),
      ["authorization", worker.authorization] as [string, string],
    ];
    expect((await fetch(tokenUrl(server), { method: "POST", body, headers })).status).toBe(400);
  });

  test("one proof on 16 connections at once is used once", async ({ server }) => {
    const proof = aProof(key, { url: tokenUrl(server) });
    const answers = await Promise.all(Array.from({ length: 16 }, () => grant(server, proof)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(400)]);
    expect(new Set(answers.map(({ body }) => body.error))).toEqual(new Set([undefined, "invalid_dpop_proof"]));
  });

  test("a client that does not authenticate uses up no proof", async ({ server }) => {
    const proof = aProof(key, { url: tokenUrl(server) });
    expect((await grant(server, proof, { authorization: basicAuth("worker", "wrong") })).body.error).toBe("invalid_client");
    expect((await grant(server, proof)).status).toBe(200);
  });

  test("the metadata lists the algorithms", async ({ server }) => {
    for (const name of ["openid-configuration", "oauth-authorization-server"]) {
      const { body } = await server.get(`/.well-known/${name}`);
      expect(body.dpop_signing_alg_values_supported).toEqual(expect.arrayContaining(["ES256", "EdDSA"]));
    }
  });
});

const { publicApp, web } = { publicApp: "public-app", web: "web" };
const REDIRECT = "https://app.example.test/cb";
const app = { clientId: publicApp, redirectUri: REDIRECT };
const SCOPE = "openid offline_access notes:read";

/** A token request with a proof by a key. */
const asked = (server: TestServer, fields: Record<string, string | undefined>, by = key, headers: Record<string, string> = {}) =>
  server.form("/oauth/token", { client_id: publicApp, ...fields }, { ...headers, dpop: aProof(by, { url: tokenUrl(server) }) });

/** A request to one of the server's own routes with a bound token. */
async function present(server: TestServer, path: string, accessToken: string, { method = "GET", by = key, proof = "" } = {}) {
  const dpop = proof || aProof(by, { url: `${server.url}${path.split("?")[0]}`, method, accessToken });
  const response = await fetch(`${server.url}${path}`, { method, headers: { authorization: `DPoP ${accessToken}`, dpop } });
  return { status: response.status, challenge: response.headers.get("www-authenticate"), body: await response.text() };
}

test("RFC 9449 §5.2: a client with dpopBoundAccessTokens gets bound tokens alone", async ({ server }) => {
  const { operator } = (await adminAs(server.url)).admin;
  const made = await operator.clients.create.mutate({
    name: "Bound",
    grantTypes: ["client_credentials"],
    scopes: ["notes:read"],
    dpopBoundAccessTokens: true,
  });
  expect(made.dpopBoundAccessTokens).toBe(true);
  const headers = { authorization: basicAuth(made.clientId, made.clientSecret ?? "") };
  expect((await server.form("/oauth/token", fields, headers)).body.error).toBe("invalid_dpop_proof");
  expect((await grant(server, aProof(key, { url: tokenUrl(server) }), headers)).body.token_type).toBe("DPoP");
});

describe("RFC 9449 §5, §10: codes and refresh tokens", () => {
  test("a refresh token of a public client is bound to the key of its code request", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const first = await asked(server, await server.code(app, browser, { scope: SCOPE }));
    expect([first.body.token_type, claimsOf(first.body.access_token).cnf]).toEqual(["DPoP", { jkt: thumbprintOf(key) }]);
    const refresh = { grant_type: "refresh_token", refresh_token: first.body.refresh_token };
    expect((await asked(server, refresh, proofKey())).body.error).toBe("invalid_grant");
    expect((await server.refresh(app, first.body.refresh_token)).body.error).toBe("invalid_dpop_proof");
    const second = await asked(server, refresh);
    expect([second.status, claimsOf(second.body.access_token).cnf]).toEqual([200, { jkt: thumbprintOf(key) }]);
  });

  test("a refresh token of a public client that was issued without a proof is bound by the first refresh with one", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const first = await server.tokens(app, browser, { scope: SCOPE });
    const unbound = await server.refresh(app, first.refresh_token);
    expect([first.token_type, unbound.body.token_type]).toEqual(["Bearer", "Bearer"]);
    const bound = await asked(server, { grant_type: "refresh_token", refresh_token: unbound.body.refresh_token });
    expect(bound.body.token_type).toBe("DPoP");
    const refresh = { grant_type: "refresh_token", refresh_token: bound.body.refresh_token };
    expect((await server.refresh(app, bound.body.refresh_token)).body.error).toBe("invalid_dpop_proof");
    expect((await asked(server, refresh, proofKey())).body.error).toBe("invalid_grant");
    expect(claimsOf((await asked(server, refresh)).body.access_token).cnf).toEqual({ jkt: thumbprintOf(key) });
  });

  test("a refresh token of a confidential client is not bound, by its code request or by a refresh", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const client = server.clients.web;
    const headers = { authorization: basicAuth(web, "web-secret") };
    const code = await server.code(client, browser, { scope: SCOPE });
    const first = await asked(server, { client_id: undefined, ...code }, key, headers);
    const second = await server.refresh(client, first.body.refresh_token);
    const refresh = { client_id: undefined, grant_type: "refresh_token", refresh_token: second.body.refresh_token };
    const third = await asked(server, refresh, key, headers);
    const fourth = await server.refresh(client, third.body.refresh_token);
    expect([first, second, third, fourth].map(({ body }) => body.token_type)).toEqual(["DPoP", "Bearer", "DPoP", "Bearer"]);
  });

  test("dpop_jkt binds the code; another key gets invalid_grant and uses up nothing", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const code = await server.code(app, browser, { scope: SCOPE, dpop_jkt: thumbprintOf(key) });
    expect((await asked(server, code, proofKey())).body.error).toBe("invalid_grant");
    expect((await server.token(app, code)).body.error).toBe("invalid_dpop_proof");
    expect((await asked(server, code)).status).toBe(200);
  });

  test("one code with two keys on 16 connections has one winner", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const code = await server.code(app, browser, { scope: SCOPE, dpop_jkt: thumbprintOf(key) });
    const right = aProof(key, { url: tokenUrl(server) });
    const requests = Array.from({ length: 16 }, (_, n) =>
      n % 2 === 0 ? server.form("/oauth/token", { client_id: publicApp, ...code }, { dpop: right }) : asked(server, code, proofKey()),
    );
    const answers = await Promise.all(requests);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(400)]);
    const { body } = answers.find(({ status }) => status === 200) ?? {};
    expect((await present(server, "/oauth/userinfo", body.access_token)).status).toBe(200);
  });
});

describe("RFC 9449 §7: the server's own routes", () => {
  test("a bound token needs a fresh proof by its key, and is refused as a bearer token", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const code = await server.code(app, browser, { scope: SCOPE });
    const token: string = (await asked(server, code)).body.access_token;
    const path = "/oauth/userinfo";
    expect((await present(server, path, token)).status).toBe(200);
    expect((await present(server, path, token, { method: "POST" })).status).toBe(200);
    for (const [route, method] of [
      [path, "GET"],
      ["/auth/logout", "POST"],
      ["/api/clients", "GET"],
      ["/trpc/clients.list", "GET"],
    ] as const) {
      const bearer = await fetch(`${server.url}${route}`, { method, headers: { authorization: `Bearer ${token}` } });
      expect([bearer.status, bearer.headers.get("www-authenticate")]).toEqual([401, expect.stringMatching(/^Bearer .*invalid_token/)]);
      const other = await present(server, route, token, { method, by: proofKey() });
      expect([other.status, other.challenge]).toEqual([401, expect.stringMatching(/^DPoP .*error="invalid_token", .*algs="[^"]*ES256/)]);
    }
    const proof = aProof(key, { url: `${server.url}${path}`, method: "GET", accessToken: token });
    expect((await present(server, path, token, { proof })).status).toBe(200);
    const forAnother = aProof(key, { url: `${server.url}${path}`, method: "GET", accessToken: `${token}x` });
    for (const wrong of [proof, "x", forAnother, aProof(key, { url: `${server.url}${path}`, method: "GET" })]) {
      const refused = await present(server, path, token, { proof: wrong });
      expect([refused.status, refused.challenge]).toEqual([401, expect.stringContaining('error="invalid_dpop_proof"')]);
    }
  });

  test.for(["DPoP", "DPoP a b", "dpop a, Bearer b"])("the header %s is malformed, not absent", async (authorization, { server }) => {
    for (const path of ["/oauth/userinfo", "/api/clients", "/trpc/clients.list"]) {
      const response = await fetch(`${server.url}${path}`, { headers: { authorization } });
      const challenge = response.headers.get("www-authenticate");
      expect([path, response.status, challenge]).toEqual([path, 400, expect.stringMatching(/^DPoP .*error="invalid_request", algs="/)]);
    }
  });

  test("an unbound token is refused under the scheme DPoP", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { access_token } = await server.tokens(app, browser, { scope: SCOPE });
    expect((await present(server, "/oauth/userinfo", access_token)).challenge).toContain('error="invalid_token"');
  });

  test("introspection shows the type and the key", async ({ server }) => {
    const { body } = await grant(server, aProof(key, { url: tokenUrl(server) }));
    const state = await server.introspect(server.clients.worker, body.access_token);
    expect(state.body).toMatchObject({ active: true, token_type: "DPoP", cnf: { jkt: thumbprintOf(key) } });
  });
});
