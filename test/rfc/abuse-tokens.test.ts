import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createGuard } from "@countersign/guard";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { expect } from "vitest";
import { basicAuth, claimsOf, headerOf } from "../support/flow.ts";
import { serve } from "../support/guard-servers.ts";
import { describe, type TestServer, test } from "../support/server.ts";

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const signed = (header: object, claims: object, key: KeyObject | string): string => {
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${sign(null, Buffer.from(input), key).toString("base64url")}`;
};
/** The signing key that the server generated. */
const ownKey = (server: TestServer): string => readFileSync(join(server.dataDir, "keys/ed25519.pem"), "utf8");

/** A protobuf message whose first field is this string. */
const firstField = (text: string): Buffer => Buffer.from([0x0a, text.length, ...Buffer.from(text)]);

/** Invalid tokens derived from a valid one. */
async function forged(server: TestServer, good: string): Promise<readonly (readonly [string, string])[]> {
  const [header, claims] = [headerOf(good), claimsOf(good)];
  const { keys } = (await server.get("/.well-known/jwks.json")).body;
  const hs256 = `${part({ ...header, alg: "HS256" })}.${part(claims)}`;
  const [first, second, signature] = good.split(".");
  return [
    ["signed with an unknown key", signed(header, claims, generateKeyPairSync("ed25519").privateKey)],
    ["alg none", `${part({ ...header, alg: "none" })}.${part(claims)}.`],
    [
      "HS256 with the public key",
      `${hs256}.${createHmac("sha256", Buffer.from(keys[0].x, "base64url")).update(hs256).digest("base64url")}`,
    ],
    ["typ JWT", signed({ ...header, typ: "JWT" }, claims, ownKey(server))],
    ["another issuer", signed(header, { ...claims, iss: "https://evil.test" }, ownKey(server))],
    ["no exp", signed(header, { ...claims, exp: undefined }, ownKey(server))],
    ["an exp that is not a number", signed(header, { ...claims, exp: "9999999999" }, ownKey(server))],
    ["crit", signed({ ...header, crit: ["x"], x: 1 }, claims, ownKey(server))],
    ["jwk", signed({ ...header, jwk: keys[0] }, claims, ownKey(server))],
    ["a trailing newline", `${good}%0a`],
    ["another subject under the same signature", `${first}.${part({ ...claims, sub: "x" })}.${signature}`],
    ["another spelling of the signature", `${first}.${second}.${signature}=`],
    ["a token of 60 kB", `${first}.${"A".repeat(60_000)}.${signature}`],
  ];
}

describe("concurrent use of codes and refresh tokens", () => {
  test("abuse 19: 64 concurrent redemptions of a code: exactly one succeeds, and its tokens are revoked", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { web } = server.clients;
    const code = await server.code(web, browser, { scope: "openid" });
    const answers = await Promise.all(Array.from({ length: 64 }, () => server.token(web, code)));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    for (const { status, body } of answers) if (status !== 200) expect([status, body.error]).toEqual([400, "invalid_grant"]);
    const [{ body }] = won as [(typeof answers)[number]];
    expect((await server.introspect(web, body.access_token)).body).toEqual({ active: false });
    expect((await server.userinfo(body.access_token)).status).toBe(401);
    expect((await server.refresh(web, body.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("abuse 24: 64 concurrent refreshes: exactly one succeeds, and the family is revoked", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { web } = server.clients;
    const { refresh_token } = await server.tokens(web, browser, { scope: "openid" });
    const answers = await Promise.all(Array.from({ length: 64 }, () => server.refresh(web, refresh_token)));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect((await server.refresh(web, won[0]?.body.refresh_token)).body.error).toBe("invalid_grant");
    expect((await server.introspect(web, won[0]?.body.access_token)).body).toEqual({ active: false });
  });
});

describe("invalid credentials and tokens", () => {
  test("abuse 27: an unsigned client assertion returns invalid_client, with and without a client secret", async ({ server }) => {
    const assertion = `${part({ alg: "none" })}.${part({ iss: "poster", sub: "poster", aud: server.url, jti: "1", exp: 9_999_999_999 })}.`;
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const grant = { grant_type: "client_credentials", scope: "notes:read", client_assertion: assertion, client_assertion_type };
    for (const secret of ["poster-secret", undefined]) {
      const answer = await server.form("/oauth/token", { ...grant, client_id: "poster", client_secret: secret });
      expect([answer.status, answer.body.error]).toEqual([401, "invalid_client"]);
    }
  });

  test("abuse 35: introspection and revocation return invalid_client to a public client", async ({ server }) => {
    for (const path of ["/oauth/introspect", "/oauth/revoke"]) {
      for (const headers of [{}, { authorization: basicAuth("public-app", "") }]) {
        const answer = await server.form(path, { token: "x", client_id: "public-app" }, headers);
        expect([path, answer.status, answer.body.error]).toEqual([path, 401, "invalid_client"]);
      }
    }
  });

  test("abuse 46: ID tokens and forged tokens return invalid_token at userinfo and are inactive at introspection", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { web } = server.clients;
    const tokens = await server.tokens(web, browser, { scope: "openid email" });
    expect((await server.userinfo(tokens.access_token)).status).toBe(200);
    for (const [what, token] of [["the ID token", tokens.id_token] as const, ...(await forged(server, tokens.access_token))]) {
      const encoded = token.replace("%0a", "");
      if (encoded === token && token.length < 9000) {
        const answer = await server.userinfo(token);
        expect([what, answer.status, answer.body.error]).toEqual([what, 401, "invalid_token"]);
        expect(answer.headers.get("www-authenticate")).toContain('error="invalid_token"');
      }
      const answer = await server.introspect(web, token.replace("%0a", "\n"));
      expect([what, answer.status, answer.body]).toEqual([what, 200, { active: false }]);
    }
    expect((await server.introspect(web, tokens.access_token)).body.active).toBe(true);
  });

  test("abuse 48: a guard rejects forged and expired tokens, ID tokens and tokens for another audience", async ({ server }) => {
    const resource = "https://crm.example.test/mcp";
    const guard = createGuard({ resource, authorizationServers: [server.url], scopes: ["crm:read"] });
    const guarded = await serve("node:http", guard);
    try {
      const call = (token: string) => fetch(`${guarded.origin}/mcp`, { headers: { authorization: `Bearer ${token}` } });
      const ask = (resource?: string) =>
        server.token(server.clients.agent, { grant_type: "client_credentials", scope: "crm:read", resource });
      const good = (await ask(resource)).body.access_token;
      expect((await call(good)).status).toBe(200);
      const elsewhere = (await ask("https://mail.example.test/mcp")).body.access_token;
      const past = Math.floor(Date.now() / 1000) - 3600;
      const expired = signed(headerOf(good), { ...claimsOf(good), iat: past - 900, exp: past }, ownKey(server));
      const { browser } = await server.signedInUser();
      const { id_token } = await server.tokens(server.clients.web, browser, { scope: "openid" });
      const bad = [
        ["another audience", elsewhere],
        ["expired", expired],
        ["an ID token", id_token],
        ...(await forged(server, good)),
      ] as const;
      for (const [what, token] of bad) {
        if (token.includes("%") || token.length > 9000) continue;
        const response = await call(token);
        expect([what, response.status, response.headers.get("www-authenticate")]).toEqual([
          what,
          401,
          expect.stringContaining('error="invalid_token"'),
        ]);
      }
    } finally {
      await guarded.close();
    }
  });

  test("abuse 63: logout rejects forged tokens and accepts an expired token that the server issued", async ({ server }) => {
    const { login } = await server.signedInUser();
    const logout = (token: string) =>
      fetch(`${server.url}/auth/logout`, { method: "POST", headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status);
    for (const [what, token] of await forged(server, login.access_token)) {
      if (!token.includes("%") && token.length < 9000) expect([what, await logout(token)]).toEqual([what, 401]);
    }
    expect(
      (await server.refresh({ clientId: "countersign", redirectUri: "" }, login.refresh_token, { client_id: "countersign" })).status,
    ).toBe(200);
    const past = Math.floor(Date.now() / 1000) - 3600;
    const expired = signed(headerOf(login.access_token), { ...claimsOf(login.access_token), iat: past - 900, exp: past }, ownKey(server));
    expect((await server.userinfo(expired)).status).toBe(401);
    expect(await logout(expired)).toBe(200);
  });

  test("abuse 50: gRPC introspection requires client credentials, and the token core refuses them", async ({ server }) => {
    const client = new Client(server.grpc, credentials.createInsecure());
    const raw = (bytes: Buffer) => bytes;
    const call = (path: string, authorization?: string): Promise<number> =>
      new Promise((resolve) => {
        const metadata = new Metadata();
        if (authorization !== undefined) metadata.set("authorization", authorization);
        client.makeUnaryRequest(path, raw, raw, firstField("x"), metadata, {}, (error) => resolve(error?.code ?? status.OK));
      });
    try {
      const introspect = "/countersign.introspection.v1.IntrospectionService/Introspect";
      expect(await call(introspect)).toBe(status.UNAUTHENTICATED);
      expect(await call(introspect, basicAuth("web", "wrong"))).toBe(status.UNAUTHENTICATED);
      expect(await call(introspect, "Bearer x")).toBe(status.UNAUTHENTICATED);
      for (const credential of [undefined, basicAuth("web", "web-secret"), "Bearer wrong"]) {
        for (const method of ["Token", "IssueCode", "LoginTokens", "PublicKeys", "Revoke"]) {
          const answer = await call(`/countersign.token.v1.TokenCoreService/${method}`, credential);
          expect([status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.UNIMPLEMENTED]).toContain(answer);
        }
      }
    } finally {
      client.close();
    }
  });
});

describe("abuse 72: CORS", () => {
  test("authorize, introspection, sign-in and session endpoints allow no other origin; token, revocation, registration and JWKS allow any, without credentials", async ({
    server,
  }) => {
    const origin = { origin: "https://evil.test" };
    for (const path of ["/oauth/authorize", "/login", "/account", "/consents/", "/auth/verify", "/health", "/metrics"]) {
      expect([path, (await server.get(path, origin)).headers.get("access-control-allow-origin")]).toEqual([path, null]);
    }
    for (const path of ["/oauth/introspect", "/auth/login", "/auth/register", "/auth/logout", "/login", "/consent"]) {
      const answer = await server.form(path, { a: "b" }, origin);
      expect([path, answer.headers.get("access-control-allow-origin")]).toEqual([path, null]);
      const preflight = await fetch(server.url + path, {
        method: "OPTIONS",
        headers: { ...origin, "access-control-request-method": "POST" },
      });
      expect([path, preflight.headers.get("access-control-allow-origin")]).toEqual([path, null]);
    }
    for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/register", "/.well-known/jwks.json"]) {
      const { headers } = await fetch(server.url + path, { method: "POST", headers: origin });
      expect([path, headers.get("access-control-allow-origin"), headers.get("access-control-allow-credentials")]).toEqual([
        path,
        "*",
        null,
      ]);
    }
  });
});
