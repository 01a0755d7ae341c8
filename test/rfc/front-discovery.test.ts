import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AUTH_METHODS } from "../../src/clients/client.ts";
import { discoveryRoutes } from "../../src/front/oauth/discovery.ts";
import { jwksRoute } from "../../src/front/oauth/jwks.ts";
import { GRANT_TYPES } from "../../src/protocol/grants.ts";
import { coreWith } from "../support/fake-core.ts";
import { rawRequest, startFront, type TestFront } from "../support/front.ts";

const ISSUER = "https://as.example/tenant";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

let now = 1_700_000_000;
let keys = '{"keys":[{"kty":"OKP","kid":"1"}]}';
let reachable = false;
let coreCalls = 0;
const core = coreWith({
  async publicKeys() {
    coreCalls += 1;
    if (!reachable) throw new Error("connection refused");
    return { jwksJson: keys };
  },
});

let realmScopes: readonly string[] | null | "fails" | "hangs" = null;
let realmReads = 0;
const offered: string[] = [];
const options = {
  issuer: ISSUER,
  realms: {
    async default() {
      realmReads += 1;
      if (realmScopes === "hangs") return new Promise<never>(() => undefined);
      if (realmScopes === "fails") throw new Error("connection refused");
      return { id: "r", name: "default", dynamicRegistrationScopes: realmScopes };
    },
  },
  resources: { offered: async () => offered },
  trustsPlatforms: async () => false,
  defaultScopes: ["openid", "offline_access"],
  clock: () => now,
  idTokenAlgorithms: ["EdDSA"],
  cimdEnabled: true,
  requirePushedRequests: false,
  grantTypes: GRANT_TYPES.filter((grant) => grant !== JWT_BEARER),
};
let front: TestFront;
let jagFront: TestFront;
beforeAll(async () => {
  front = await startFront({
    issuer: ISSUER,
    routes: [...discoveryRoutes(options), jwksRoute({ core, issuer: ISSUER, clock: () => now })],
  });
  jagFront = await startFront({
    issuer: ISSUER,
    routes: discoveryRoutes({ ...options, cimdEnabled: false, grantTypes: GRANT_TYPES, defaultScopes: [] }),
  });
});
afterAll(() => Promise.all([front.close(), jagFront.close()]));

const OAUTH = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";
const read = async (path: string, of = front) => (await fetch(of.url + path)).json();

describe("RFC 8414 §2, docs/protocol.md#discovery: metadata", () => {
  test("lists the members of docs/protocol.md#discovery", async () => {
    const json = await read(OAUTH);
    expect(json).toMatchObject({
      issuer: ISSUER,
      authorization_endpoint: `${ISSUER}/oauth/authorize`,
      token_endpoint: `${ISSUER}/oauth/token`,
      registration_endpoint: `${ISSUER}/oauth/register`,
      jwks_uri: `${ISSUER}/.well-known/jwks.json`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      resource_indicators_supported: true,
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      grant_types_supported: GRANT_TYPES.filter((grant) => grant !== JWT_BEARER),
      token_endpoint_auth_methods_supported: [...AUTH_METHODS, "spiffe_jwt"],
      scopes_supported: ["openid", "offline_access"],
      ui_locales_supported: ["en", "de"],
    });
    expect(json.token_endpoint_auth_signing_alg_values_supported).toEqual(expect.arrayContaining(["EdDSA", "Ed25519", "ES256", "RS256"]));
    expect(json.token_endpoint_auth_signing_alg_values_supported.join()).not.toMatch(/none|HS/);
    expect(json).not.toHaveProperty("authorization_grant_profiles_supported");
    expect(JSON.stringify(json)).not.toContain("null");
  });

  test("of OpenID Connect contains the OAuth metadata and sets request_uri_parameter_supported to false", async () => {
    const [oauth, openid] = [await read(OAUTH), await read(OPENID)];
    expect(openid).toMatchObject(oauth);
    expect(openid).toMatchObject({
      userinfo_endpoint: `${ISSUER}/oauth/userinfo`,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["EdDSA"],
      request_uri_parameter_supported: false,
      request_parameter_supported: false,
    });
  });

  test("follows the settings and omits an empty scopes_supported", async () => {
    const json = await read(OAUTH, jagFront);
    expect(json).toMatchObject({
      grant_types_supported: GRANT_TYPES,
      authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
      client_id_metadata_document_supported: false,
    });
    expect(json).not.toHaveProperty("scopes_supported");
  });

  test("scopes_supported follows the default realm within a second, reads it once for concurrent requests, and stays while reading fails", async () => {
    const scopes = async () => [(await read(OAUTH)).scopes_supported, (await read(OPENID)).scopes_supported];
    now += 1;
    let before = realmReads;
    realmScopes = ["openid", "notes:read"];
    expect(await Promise.all([scopes(), scopes(), scopes()])).toEqual(Array(3).fill([realmScopes, realmScopes]));
    expect(realmReads - before).toBe(1);
    now += 1;
    before = realmReads;
    realmScopes = "fails";
    const kept = ["openid", "notes:read"];
    expect(await scopes()).toEqual([kept, kept]);
    expect(realmReads - before).toBe(1); // a failed read is not repeated at once
    realmScopes = null;
    now += 3;
    expect(await scopes()).toEqual([options.defaultScopes, options.defaultScopes]);
  });

  test("scopes_supported is read again after the clock was set back", async () => {
    realmScopes = ["openid"];
    now -= 3_600;
    expect((await read(OAUTH)).scopes_supported).toEqual(realmScopes);
    realmScopes = null;
    now += 1;
    expect((await read(OAUTH)).scopes_supported).toEqual(options.defaultScopes);
  });

  test("is returned with the previous scopes while reading the realm hangs", async () => {
    now += 1;
    realmScopes = "hangs";
    expect((await read(OAUTH)).scopes_supported).toEqual(options.defaultScopes);
    realmScopes = null;
    now += 3;
  });

  test.for([[OAUTH], [`${OAUTH}/tenant`], [OPENID], [`${OPENID}/tenant`], [`/tenant${OPENID}`], [`/tenant${OAUTH}`]] as const)(
    "is served at %s",
    async ([path]) => {
      expect((await read(path)).issuer).toBe(ISSUER);
    },
  );

  test("is cacheable, allows any origin, and has an ETag", async () => {
    const response = await fetch(front.url + OAUTH);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("cache-control")).toBe("public, max-age=300");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    const etag = response.headers.get("etag") ?? "";
    for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await fetch(front.url + OAUTH, { headers: { "if-none-match": sent } });
      expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await fetch(front.url + OAUTH, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });

  test("does not depend on Host or forwarded headers", async () => {
    const spoofed = "X-Forwarded-Host: evil.test\r\nForwarded: host=evil.test\r\nConnection: close\r\n\r\n";
    const answer = await rawRequest(front.port, `GET ${OAUTH} HTTP/1.1\r\nHost: evil.test\r\n${spoofed}`);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).not.toContain("evil.test");
  });

  test("accepts only GET and HEAD", async () => {
    const response = await fetch(front.url + OAUTH, { method: "POST" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await fetch(front.url + OAUTH, { method: "HEAD" })).status).toBe(200);
  });
});

describe("RFC 7517: the key set", () => {
  const JWKS = "/.well-known/jwks.json";

  test("returns 503 until a core has answered, then the keys of the core", async () => {
    const none = await fetch(front.url + JWKS);
    expect([none.status, none.headers.get("retry-after")]).toEqual([503, "5"]);
    reachable = true;
    const response = await fetch(front.url + JWKS);
    expect([response.status, await response.text()]).toEqual([200, keys]);
    // R9: 300 s until a new key signs, less those until every core and front publishes it.
    expect(response.headers.get("cache-control")).toBe("public, max-age=240");
    const etag = response.headers.get("etag") ?? "";
    expect((await fetch(front.url + JWKS, { headers: { "if-none-match": etag } })).status).toBe(304);
  });

  test("is read again after 3 seconds, once for ten concurrent requests, so that it follows a rotation", async () => {
    const before = await (await fetch(front.url + JWKS)).text();
    keys = '{"keys":[{"kty":"OKP","kid":"2"}]}';
    expect(await (await fetch(front.url + JWKS)).text()).toBe(before);
    now += 3;
    coreCalls = 0;
    const answers = await Promise.all(Array.from({ length: 10 }, async () => (await fetch(front.url + JWKS)).text()));
    expect(new Set(answers)).toEqual(new Set([keys]));
    expect(coreCalls).toBe(1);
  });

  test("is read again after the clock was set back", async () => {
    keys = '{"keys":[{"kty":"OKP","kid":"3"}]}';
    now -= 3_600;
    expect(await (await fetch(front.url + JWKS)).text()).toBe(keys);
  });

  test("is served for a day while the core is down, and the core is not called for every request", async () => {
    reachable = false;
    now += 24 * 60 * 60;
    coreCalls = 0;
    for (let i = 0; i < 3; i += 1) expect((await fetch(front.url + JWKS)).status).toBe(200);
    expect(coreCalls).toBe(1);
    now += 1;
    expect((await fetch(front.url + JWKS)).status).toBe(503);
  });
});
