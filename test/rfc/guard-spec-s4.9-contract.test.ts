import { createHmac } from "node:crypto";
import { request as rawRequest } from "node:http";
import { createGuard } from "@countersign/guard";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anIssuerKey, startIssuer, type TokenParts } from "../support/guard-issuer.ts";
import { SERVER_KINDS, serve } from "../support/guard-servers.ts";

const RESOURCE = "https://notes.example/mcp";
const METADATA = "https://notes.example/.well-known/oauth-protected-resource/mcp";
const issuer = await startIssuer();
afterAll(issuer.close);

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const aToken = async (parts?: TokenParts) => bearer(await issuer.token(RESOURCE, parts));
const scoped = (scope: string) => aToken({ claims: { scope } });

describe.for(SERVER_KINDS)("a resource server on %s", (kind) => {
  let server: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    const guard = createGuard({
      resource: RESOURCE,
      authorizationServers: [issuer.issuer],
      scopes: ["notes:read"],
      scopesSupported: ["notes:write", "offline_access"],
    });
    server = await serve(kind, guard);
  });
  afterAll(() => server.close());

  const call = (path: string, init?: RequestInit) => fetch(server.origin + path, init);
  /** Status and challenge of a refused call, with the body as text. */
  async function refused(path: string, headers?: Record<string, string>) {
    const response = await call(path, headers && { headers });
    return [response.status, response.headers.get("www-authenticate"), await response.text()];
  }

  test("a request without credentials is challenged with scope and resource_metadata, and without error", async () => {
    expect(await refused("/mcp")).toEqual([401, `Bearer scope="notes:read", resource_metadata="${METADATA}"`, ""]);
    expect(await refused("/any")).toEqual([401, `Bearer resource_metadata="${METADATA}"`, ""]);
  });

  test("a challenge is not cacheable, exposes WWW-Authenticate to scripts, and has no media type", async () => {
    const { headers } = await call("/mcp");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-expose-headers")).toBe("WWW-Authenticate");
    expect(headers.get("content-type")).toBeNull();
  });

  test("a valid token returns 200, and the handler gets the principal", async () => {
    const actor = { sub: "agent", act: { sub: "planner" } };
    const headers = await aToken({ claims: { act: actor, aud: [RESOURCE, "https://other.example"] } });
    const response = await call("/mcp", { headers });
    expect([response.status, (await response.json()).principal]).toMatchObject([
      200,
      {
        sub: "ada",
        clientId: "notebook",
        scopes: ["notes:read"],
        actors: ["agent", "planner"],
        audience: [RESOURCE, "https://other.example"],
        issuer: issuer.issuer,
      },
    ]);
  });

  test("the handler gets the body but not the token (abuse checklist 49)", async () => {
    const headers = await aToken();
    const response = await call("/mcp?x=1", { method: "POST", headers, body: "hello" });
    const { visible, body } = await response.json();
    expect(body).toBe("hello");
    expect(visible).not.toContain(headers.authorization.slice("Bearer ".length));
    expect(visible.toLowerCase()).not.toContain("authorization");
  });

  describe("scopes (exact, case sensitive, without hierarchy)", () => {
    const full = `Bearer error="insufficient_scope", scope="notes:read notes:write", resource_metadata="${METADATA}"`;

    test.for(["notes:read", "notes:read notes:Write", "notes", "notes:read notes:write:all", "", "notes:write"])(
      "%j is insufficient_scope for a route that requires read and write, and the challenge names both",
      async (scope) => {
        expect(await refused("/write", await scoped(scope))).toEqual([403, full, '{"error":"insufficient_scope"}']);
      },
    );

    test("the required scopes are accepted in any order and beside others", async () => {
      expect((await call("/write", { headers: await scoped("x notes:write notes:read") })).status).toBe(200);
    });

    test("offline_access is enforced where it is configured, but never named in a challenge", async () => {
      const challenge = `Bearer error="insufficient_scope", scope="notes:read", resource_metadata="${METADATA}"`;
      expect((await refused("/offline"))[1]).toBe(`Bearer scope="notes:read", resource_metadata="${METADATA}"`);
      expect((await refused("/offline", await scoped("notes:read"))).slice(0, 2)).toEqual([403, challenge]);
      expect((await call("/offline", { headers: await scoped("notes:read offline_access") })).status).toBe(200);
    });
  });

  describe("refuses as invalid_token (abuse checklist 46, 48)", () => {
    const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer.issuer, sub: "ada", aud: RESOURCE, scope: "notes:read", exp: now + 300 };
    const hmac = () => {
      const input = `${b64({ alg: "HS256", typ: "at+jwt", kid: "first" })}.${b64(claims)}`;
      const secret = Buffer.from(issuer.key.jwk.x ?? "", "base64url");
      return bearer(`${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`);
    };

    test.for([
      ["a token for another resource", () => aToken({ claims: { aud: "https://other.example/mcp" } })],
      ["a token for the client id", () => aToken({ claims: { aud: "notebook" } })],
      ["an expired token", () => aToken({ claims: { exp: now - 1 } })],
      ["a token that never expires", () => aToken({ claims: { exp: undefined } })],
      ["a token of another issuer", () => aToken({ claims: { iss: "https://evil.test" } })],
      ["an ID token", () => aToken({ header: { typ: "JWT" }, claims: { aud: "notebook", nonce: "n", auth_time: now } })],
      ["an ID token for the resource", () => aToken({ header: { typ: "JWT" } })],
      ["a token without typ", () => aToken({ header: { typ: undefined } })],
      ["a token of another use", () => aToken({ claims: { token_use: "id" } })],
      ["an identity assertion", () => aToken({ header: { typ: "oauth-id-jag+jwt" } })],
      ["alg none", async () => bearer(`${b64({ alg: "none", typ: "at+jwt" })}.${b64(claims)}.`)],
      ["HS256 keyed with the public key", async () => hmac()],
      ["another key under a known kid", async () => aToken({ key: await anIssuerKey("first") })],
      [
        "a key in the header of the token",
        async () => aToken({ key: await anIssuerKey("x"), header: { jwk: (await anIssuerKey("x")).jwk } }),
      ],
      ["an unknown kid", () => aToken({ header: { kid: "second" } })],
      ["rubbish", async () => bearer("rubbish")],
    ] as const)("%s", async ([, headers]) => {
      expect(await refused("/mcp", await headers())).toEqual([
        401,
        `Bearer error="invalid_token", scope="notes:read", resource_metadata="${METADATA}"`,
        '{"error":"invalid_token"}',
      ]);
    });
  });

  describe("refuses as invalid_request", () => {
    const expected = [400, `Bearer error="invalid_request", resource_metadata="${METADATA}"`, '{"error":"invalid_request"}'];

    test("a malformed header", async () => {
      expect(await refused("/mcp", { authorization: "Bearer" })).toEqual(expected);
      expect(await refused("/mcp", { authorization: "Bearer a b" })).toEqual(expected);
    });

    test("a token in the header and another in the query", async () => {
      const headers = await aToken();
      expect(await refused(`/mcp?access_token=${headers.authorization.slice(7)}`, headers)).toEqual(expected);
    });

    test("two equal Authorization fields", async () => {
      const { authorization } = await aToken();
      const status = await new Promise((done, fail) => {
        const headers = ["Host", "x", "Authorization", authorization, "Authorization", authorization];
        const sent = rawRequest(`${server.origin}/mcp`, { headers }, (response) => done(response.resume().statusCode));
        sent.on("error", fail).end();
      });
      expect(status).toBe(400);
    });
  });

  test("a token in the query is ignored", async () => {
    const { authorization } = await aToken();
    expect((await refused(`/mcp?access_token=${authorization.slice(7)}`)).slice(0, 2)).toEqual([
      401,
      `Bearer scope="notes:read", resource_metadata="${METADATA}"`,
    ]);
  });

  test.for(["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])(
    "the metadata document is served at %s without credentials and to any origin (RFC 9728 §3)",
    async (path) => {
      const response = await call(path, { headers: { origin: "https://elsewhere.example", authorization: "Bearer" } });
      expect([response.status, response.headers.get("content-type"), response.headers.get("access-control-allow-origin")]).toEqual([
        200,
        "application/json",
        "*",
      ]);
      expect(await response.json()).toEqual({
        resource: RESOURCE,
        authorization_servers: [issuer.issuer],
        scopes_supported: ["notes:read", "notes:write"],
        bearer_methods_supported: ["header"],
      });
      expect((await call(path, { method: "OPTIONS" })).status).toBe(204);
      expect((await call(path, { method: "POST" })).status).toBe(405);
    },
  );
});
