import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import type { Route } from "../../../src/front/http/routes.ts";
import { discoveryRoutes } from "../../../src/front/oauth/discovery.ts";
import { introspectRoute } from "../../../src/front/oauth/introspect.ts";
import { jwksRoute } from "../../../src/front/oauth/jwks.ts";
import { revokeRoute } from "../../../src/front/oauth/revoke.ts";
import { tokenRoute } from "../../../src/front/oauth/token.ts";
import { SELF_SERVICE_GRANT_TYPES } from "../../../src/protocol/grants.ts";
import { coreWith } from "../../support/fake-core.ts";
import { ISSUER, rawRequest, startFront, type TestFront } from "../../support/front.ts";

const active = { active: true, sub: "ada", clientId: "c", scope: "a", aud: ["r"], iss: ISSUER, exp: 2, iat: 1, tokenType: "Bearer" };
const core = coreWith({
  token: async ({ grant }) => {
    if (grant?.case === "clientCredentials" && grant.value.scope === "broken") throw new Error("not a refusal");
    if (grant?.case === "clientCredentials" && grant.value.scope === "busy") throw new Refusal("temporarily_unavailable", "busy");
    if (grant?.case !== "clientCredentials") throw new Refusal("invalid_grant", "code_unknown", { description: "The code is not valid." });
    return { accessToken: "t", tokenType: "Bearer", expiresIn: 60, scope: "a" };
  },
  introspect: async ({ tokens }) => ({ results: tokens.map((token) => (token === "live" ? active : { active: false })) }),
  revoke: async ({ token }) => {
    if (token === "of-another") throw new Refusal("invalid_client", "client_unknown");
    return {};
  },
  publicKeys: async () => ({ jwksJson: '{"keys":[]}' }),
});

const realms = { default: async () => ({ id: "r", name: "default", dynamicRegistrationScopes: null }) };
const routes: readonly Route[] = [
  tokenRoute({ core, issuer: ISSUER, grantTypes: SELF_SERVICE_GRANT_TYPES, trustsPlatforms: async () => false }),
  introspectRoute({ core, issuer: ISSUER }),
  revokeRoute({ core, issuer: ISSUER }),
  jwksRoute({ core, issuer: ISSUER, clock: () => 1 }),
  ...discoveryRoutes({
    issuer: ISSUER,
    trustsPlatforms: async () => false,
    realms: realms as unknown as Parameters<typeof discoveryRoutes>[0]["realms"],
    resources: { offered: async () => [] },
    defaultScopes: ["openid"],
    clock: () => 1,
    idTokenAlgorithms: ["EdDSA"],
    cimdEnabled: true,
    requirePushedRequests: false,
    grantTypes: SELF_SERVICE_GRANT_TYPES,
  }),
];

let light: TestFront;
let viaKoa: TestFront;
beforeAll(async () => {
  const requestId = () => "r";
  [light, viaKoa] = await Promise.all([startFront({ routes, requestId }), startFront({ routes, requestId, hot: false })]);
});
afterAll(() => Promise.all([light.close(), viaKoa.close()]));

/** Status, sorted headers without the date, and body of a response. */
async function seen(front: TestFront, head: string, body: string | Buffer) {
  const bytes = Buffer.concat([Buffer.from(head), Buffer.from(body)]);
  const [lines = "", ...content] = (await rawRequest(front.port, bytes, 2000)).split("\r\n\r\n");
  const [status, ...headers] = lines.split("\r\n");
  const sorted = headers.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase())).filter((line) => !line.startsWith("date:"));
  return { status, headers: sorted.sort(), body: content.join("\r\n\r\n"), observed: front.observed.at(-1), faults: front.faults.length };
}

const FORM = "application/x-www-form-urlencoded";
const BASIC = `Authorization: Basic ${Buffer.from("c:secret").toString("base64")}`;
const post = (path: string, body: string | Buffer, ...headers: string[]) => {
  const type = headers.some((line) => /^content-type:/i.test(line)) ? [] : [`Content-Type: ${FORM}`];
  const lines = [`POST ${path} HTTP/1.1`, "Host: x", "Connection: close", `Content-Length: ${body.length}`, ...type, ...headers];
  return { head: `${lines.join("\r\n")}\r\n\r\n`, body };
};
const send = (method: string, path: string, ...headers: string[]) => ({
  head: `${[`${method} ${path} HTTP/1.1`, "Host: x", "Connection: close", ...headers].join("\r\n")}\r\n\r\n`,
  body: "",
});

const CASES = {
  "a token": [post("/oauth/token", "grant_type=client_credentials", BASIC), 200],
  "a token for a request in chunks": [
    {
      head: `POST /oauth/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${BASIC}\r\nContent-Type: ${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      body: "1d\r\ngrant_type=client_credentials\r\n0\r\n\r\n",
    },
    200,
  ],
  "a refused grant": [post("/oauth/token", "grant_type=authorization_code&code=x&code_verifier=y&redirect_uri=z", BASIC), 400],
  "an internal error": [post("/oauth/token", "grant_type=client_credentials&scope=broken", BASIC), 500],
  "an unavailable core": [post("/oauth/token", "grant_type=client_credentials&scope=busy", BASIC), 503],
  "an unknown grant": [post("/oauth/token", "grant_type=magic", BASIC), 400],
  "a repeated field": [post("/oauth/token", "grant_type=client_credentials&scope=a&scope=b", BASIC), 400],
  "an empty body": [post("/oauth/token", "", BASIC), 400],
  "no body": [send("POST", "/oauth/token", `Content-Type: ${FORM}`), 400],
  "invalid UTF-8": [post("/oauth/token", Buffer.from([0x61, 0x3d, 0xff]), BASIC), 400],
  "a byte order mark": [post("/oauth/token", Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0x3d, 0x31]), BASIC), 400],
  "NUL in the body": [post("/oauth/token", "grant_type=\0", BASIC), 400],
  "another media type": [post("/oauth/token", "{}", BASIC, "Content-Type: application/json"), 400],
  "a content coding": [post("/oauth/token", "a=1", BASIC, "Content-Encoding: gzip"), 415],
  "a body over 64 KiB": [post("/oauth/token", `a=${"x".repeat(65_600)}`, BASIC), 413],
  "a repeated Authorization": [post("/oauth/token", "grant_type=client_credentials", BASIC, BASIC), 400],
  "a credential in the query": [post("/oauth/token?client_secret=x", "grant_type=client_credentials", BASIC), 400],
  "another method": [send("GET", "/oauth/token"), 405],
  "a preflight request": [send("OPTIONS", "/oauth/token", "Origin: https://a.test", "Access-Control-Request-Method: POST"), 204],
  "an active token": [post("/oauth/introspect", "token=live", BASIC), 200],
  "an inactive token": [post("/oauth/introspect", "token=x", BASIC), 200],
  "introspection without a token": [post("/oauth/introspect", "", BASIC), 400],
  "a revocation": [post("/oauth/revoke", "token=x", BASIC), 200],
  "a revocation by another client": [post("/oauth/revoke", "token=of-another", BASIC), 401],
  "the keys": [send("GET", "/.well-known/jwks.json"), 200],
  "the keys by HEAD": [send("HEAD", "/.well-known/jwks.json"), 200],
  "the keys with If-None-Match: *": [send("GET", "/.well-known/jwks.json", "If-None-Match: *"), 304],
  "the metadata": [send("GET", "/.well-known/oauth-authorization-server"), 200],
  "the OpenID metadata": [send("GET", "/.well-known/openid-configuration?x=1"), 200],
  "the metadata by POST": [send("POST", "/.well-known/openid-configuration"), 405],
} as const;

describe("a hot route returns the same response in front of Koa as behind it", () => {
  test.for(Object.entries(CASES))("%s", async ([, [{ head, body }, status]]) => {
    const direct = await seen(light, head, body);
    expect(direct.status).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(await seen(viaKoa, head, body)).toEqual(direct);
  });

  test("above the limit all but the essential routes return 503 at once", async () => {
    const requestId = () => "r";
    const fronts = await Promise.all([true, false].map((hot) => startFront({ routes, requestId, hot, cap: 0 })));
    const [direct, koa] = fronts as [TestFront, TestFront];
    for (const path of ["/oauth/token", "/oauth/introspect", "/oauth/revoke"]) {
      const { head, body } = post(path, "token=live", BASIC);
      const refused = await seen(direct, head, body);
      expect([refused.status, refused.body]).toEqual(["HTTP/1.1 503 Service Unavailable", '{"error":"temporarily_unavailable"}']);
      expect(refused.headers).toEqual(expect.arrayContaining(["retry-after: 1", "x-request-id: r", "cache-control: no-store"]));
      expect(await seen(koa, head, body)).toEqual(refused);
    }
    for (const { head, body } of [CASES["the keys"][0], CASES["the metadata"][0]])
      expect((await seen(direct, head, body)).status).toBe("HTTP/1.1 200 OK");
    await Promise.all(fronts.map((front) => front.close()));
  });

  test("every hot route has a case", () => {
    expect(routes.every(({ hot }) => hot)).toBe(true);
    expect(routes).toHaveLength(6);
  });
});
