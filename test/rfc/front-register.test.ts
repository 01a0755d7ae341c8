import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AuditEntry } from "../../src/audit.ts";
import type { NewClient } from "../../src/clients/ports.ts";
import { Refusal } from "../../src/errors.ts";
import { registerRoute } from "../../src/front/oauth/register.ts";
import { hashSecret } from "../../src/random.ts";
import { ISSUER, startFront, type TestFront } from "../support/front.ts";

let stored: { client: NewClient; audit: AuditEntry }[] = [];
let hits: string[] = [];
let available = true;
let bytes = 0;

let front: TestFront;
beforeAll(async () => {
  const route = registerRoute({
    issuer: ISSUER,
    registry: {
      async register(client, audit) {
        if (!available) throw new Refusal("temporarily_unavailable", "database_unreachable", { retryAfter: 5 });
        stored.push({ client, audit });
        return { ...client, createdAt: 1_700_000_000, updatedAt: null, lastUsedAt: null };
      },
    },
    realms: {
      byId: async () => undefined,
      default: async () => ({ id: "realm", name: "default", dynamicRegistrationScopes: null }),
    },
    resources: { offered: async () => ["crm:read"] },
    limiter: {
      async hit(key) {
        hits.push(key);
        return hits.filter((other) => other === key).length > 30 ? 12 : 0;
      },
    },
    defaultScopes: ["openid", "email"],
    scopeMode: "registered",
    clock: () => 1_700_000_000,
    randomBytes: (length) => Buffer.alloc(length, ++bytes),
  });
  front = await startFront({ routes: [route] });
});
afterAll(() => front.close());
beforeEach(() => {
  stored = [];
  hits = [];
  available = true;
});

const register = (body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${front.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const failure = async (response: Response) => [response.status, await response.json()];
const redirect_uris = ["https://c.example/cb"];

describe("RFC 7591 §3.2.1: a registration", () => {
  test("returns 201 with all metadata and a secret for a confidential client", async () => {
    const response = await register({ redirect_uris, client_name: "n", scope: "email admin" });
    expect([response.status, response.headers.get("cache-control"), response.headers.get("access-control-allow-origin")]).toEqual([
      201,
      "no-store",
      "*",
    ]);
    const json = await response.json();
    expect(json).toEqual({
      client_id: expect.stringMatching(/^c_[A-Za-z0-9_-]{22}$/),
      client_id_issued_at: 1_700_000_000,
      client_secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      client_secret_expires_at: 0,
      client_name: "n",
      redirect_uris,
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_basic",
      scope: "email",
    });
    const [{ client, audit }] = stored as [(typeof stored)[0]];
    expect(client.secretHash).toEqual(hashSecret(json.client_secret));
    expect(client).toMatchObject({
      clientId: json.client_id,
      origin: "dynamic",
      realmId: "realm",
      ownerId: null,
      environment: null,
      enabled: true,
    });
    expect(audit).toMatchObject({ event: "client.registered", outcome: "success", clientId: json.client_id, address: "127.0.0.1" });
  });

  test("of a public client has no secret and no null member", async () => {
    const response = await register({
      redirect_uris,
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
    });
    const text = await response.text();
    expect(text).not.toMatch(/null|secret/);
    expect(JSON.parse(text)).toMatchObject({ token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"] });
    expect(stored[0]?.client.secretHash).toBeNull();
  });

  test("for client_credentials has an empty list of redirect URIs", async () => {
    expect(await (await register({ grant_types: ["client_credentials"] })).json()).toMatchObject({ redirect_uris: [], response_types: [] });
  });

  test("ignores keys, scopes, grants and members that only operators may set", async () => {
    const greedy = {
      redirect_uris,
      jwks: { keys: [{}] },
      jwks_uri: "https://evil.test/",
      token_endpoint_auth_method: "private_key_jwt",
      is_agent: true,
      environment: "development",
      audience: ["https://rs.example"],
      max_agent_mode: "exec",
      scope: "clients:manage agent:exec openid",
      grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
    };
    const json = await (await register(greedy)).json();
    expect(json).toMatchObject({ token_endpoint_auth_method: "client_secret_basic", scope: "openid", grant_types: ["authorization_code"] });
    expect(Object.keys(json)).not.toContain("jwks");
    expect(stored[0]?.client).toMatchObject({
      isAgent: false,
      maxAgentMode: null,
      audience: null,
      jwks: null,
      jwksUri: null,
      environment: null,
    });
  });
});

describe("RFC 7591 §3.2.2: a refused registration", () => {
  test.for([
    ["malformed JSON", "{", 400, "invalid_client_metadata"],
    ["an empty body", "", 400, "invalid_client_metadata"],
    ["a JSON array", [], 400, "invalid_client_metadata"],
    ["deeply nested JSON", `{"x":${"[".repeat(5000)}${"]".repeat(5000)}}`, 400, "invalid_client_metadata"],
    ["NUL in the name", { redirect_uris, client_name: "a\0b" }, 400, "invalid_client_metadata"],
    ["a bidirectional control character in the name", { redirect_uris, client_name: "a\u202eb" }, 400, "invalid_client_metadata"],
    ["a blank name", { redirect_uris, client_name: " \u200b" }, 400, "invalid_client_metadata"],
    ["a lone surrogate in the name", '{"client_name":"\\ud800"}', 400, "invalid_client_metadata"],
    ["no redirect URI", {}, 400, "invalid_redirect_uri"],
    ["a javascript: redirect URI", { redirect_uris: ["javascript:alert(1)"] }, 400, "invalid_redirect_uri"],
    ["an unknown grant", { redirect_uris, grant_types: ["implicit"] }, 400, "invalid_client_metadata"],
    ["more than 16 KiB", { redirect_uris, client_name: "x".repeat(16_384) }, 413, "invalid_request"],
  ] as const)("refuses %s", async ([, body, status, error]) => {
    expect(await failure(await register(body))).toMatchObject([status, { error }]);
    expect(stored).toEqual([]);
  });

  test.for([
    ["client_name", 5, "client_name must be a text"],
    ["client_name", "x".repeat(256), "client_name must have a length of at most 255"],
    ["client_name", "a\u202eb", "client_name must not contain control or bidirectional characters"],
    ["redirect_uris", "https://a.example/cb", "redirect_uris must be a list"],
    ["redirect_uris", ["https://a.example/cb", 5], "redirect_uris.1 must be a text"],
    [
      "redirect_uris",
      Array.from({ length: 11 }, () => "https://a.example/cb"),
      "redirect_uris must have a number of entries of at most 10",
    ],
    ["grant_types", "authorization_code", "grant_types must be a list"],
    ["response_types", [1], "response_types.0 must be a text"],
    ["token_endpoint_auth_method", ["none"], "token_endpoint_auth_method must be a text"],
    ["scope", "x".repeat(8001), "scope must have a length of at most 8000"],
    ["dpop_bound_access_tokens", "true", "dpop_bound_access_tokens must be true or false"],
    ["require_pushed_authorization_requests", 1, "require_pushed_authorization_requests must be true or false"],
  ] as const)("says what is wrong with %s: %j", async ([member, value, sentence]) => {
    const [status, body] = await failure(await register({ redirect_uris, [member]: value }));
    expect([status, body]).toMatchObject([400, { error_description: `${sentence}.` }]);
  });

  test("another media type returns 400 invalid_client_metadata", async () => {
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "application/json, text/plain"]) {
      expect(await failure(await register({ redirect_uris }, { "content-type": type }))).toMatchObject([
        400,
        { error: "invalid_client_metadata" },
      ]);
    }
  });

  test("the 31st registration from an address in a window returns 429 with Retry-After, whatever X-Forwarded-For says", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 31; i += 1) statuses.push((await register({ redirect_uris }, { "x-forwarded-for": `192.0.2.${i}` })).status);
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 201), 429]);
    const response = await register({ redirect_uris });
    expect(response.headers.get("retry-after")).toBe("12");
    expect(await response.json()).toEqual({
      error: "too_many_requests",
      error_description: "Too many registrations from this address: try again after the seconds in Retry-After.",
    });
  });

  test("returns 503 with Retry-After while the database is down", async () => {
    available = false;
    const response = await register({ redirect_uris });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  });

  test("another method returns 405 with Allow", async () => {
    const response = await fetch(`${front.url}/oauth/register`);
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

test("no request of this file causes a fault", () => {
  expect(front.faults).toEqual([]);
});
