import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Refusal } from "../../src/errors.ts";
import { introspectRoute } from "../../src/front/oauth/introspect.ts";
import { revokeRoute } from "../../src/front/oauth/revoke.ts";
import { tokenRoute } from "../../src/front/oauth/token.ts";
import { userinfoRoutes } from "../../src/front/oauth/userinfo.ts";
import type { ClientCredential } from "../../src/gen/countersign/token/v1/token_pb.ts";
import { AccessTokenUse } from "../../src/gen/countersign/token/v1/token_pb.ts";
import { assertGrantComplete, SELF_SERVICE_GRANT_TYPES } from "../../src/protocol/grants.ts";
import { eitherScheme } from "../support/challenges.ts";
import { absentCore, coreWith } from "../support/fake-core.ts";
import { ISSUER, postForm, rawRequest, startFront, type TestFront } from "../support/front.ts";

/** Requests that reached the core. */
let calls: unknown[] = [];

/** One client `c` with secret `s`; several methods at once are refused, as the real core does. */
function authenticate(client: ClientCredential | undefined): void {
  const methods = [client?.basic, client?.clientSecret, client?.assertion].filter((method) => method !== undefined);
  const secret = client?.basic?.clientSecret ?? client?.clientSecret;
  const id = client?.basic?.clientId ?? client?.clientId;
  if (methods.length !== 1 || id !== "c" || secret !== "s") throw new Refusal("invalid_client", "wrong_secret");
}

const core = coreWith({
  async token(request) {
    authenticate(request.client);
    assertGrantComplete(request);
    calls.push(request);
    if (request.grant.case === "refreshToken") throw new Refusal("invalid_grant", "refresh_token_unknown");
    const withUser = request.grant.case === "authorizationCode" ? { refreshToken: "r", idToken: "i" } : {};
    return { accessToken: "a", tokenType: "Bearer", expiresIn: 900, scope: "x", ...withUser };
  },
  async introspect({ client, tokens }) {
    authenticate(client);
    calls.push(tokens);
    const live = { active: true, sub: "u", clientId: "c", scope: "x", iss: ISSUER, exp: 2, iat: 1, tokenType: "Bearer" };
    const results = tokens.map((token) => {
      if (token === "live") return { ...live, aud: ["https://rs.example"] };
      if (token === "delegated") return { ...live, aud: ["a", "b"], act: { sub: "B", act: { sub: "A" } } };
      return { active: false, sub: "never shown" };
    });
    return { results };
  },
  async revoke(request) {
    authenticate(request.client);
    calls.push(request);
    return {};
  },
  async verifyAccessToken({ accessToken, use }) {
    if (use !== AccessTokenUse.USERINFO || accessToken === "bad") throw new Refusal("invalid_token", "token_expired");
    if (accessToken === "narrow") throw new Refusal("insufficient_scope", "scope_openid_missing");
    const verified = accessToken === "unverified" ? {} : { email: "me@example.test" };
    return { sub: "u", clientId: "c", scopes: accessToken === "noemail" ? ["openid"] : ["openid", "email"], ...verified };
  },
});

const routes = (of = core) => [
  tokenRoute({ core: of, issuer: ISSUER, grantTypes: SELF_SERVICE_GRANT_TYPES, trustsPlatforms: async () => false }),
  introspectRoute({ core: of, issuer: ISSUER }),
  revokeRoute({ core: of, issuer: ISSUER }),
  ...userinfoRoutes({ core: of, issuer: ISSUER }),
];

let front: TestFront;
let frontWithoutCore: TestFront;
beforeAll(async () => {
  front = await startFront({ routes: routes() });
  frontWithoutCore = await startFront({ routes: routes(absentCore()) });
});
afterAll(() => Promise.all([front.close(), frontWithoutCore.close()]));
beforeEach(() => {
  calls = [];
});

const basic = `Basic ${Buffer.from("c:s").toString("base64")}`;
const failure = async (response: Response) => [response.status, await response.json()];
const CREDENTIALS = { client_id: "c", client_secret: "s" };
const GRANT = { grant_type: "client_credentials", scope: "x" };

describe("RFC 6749 §5.1: the token response", () => {
  test("contains what the core issued, is JSON, and is not cacheable", async () => {
    const response = await postForm(`${front.url}/oauth/token`, GRANT, { authorization: basic });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect([response.headers.get("cache-control"), response.headers.get("pragma")]).toEqual(["no-store", "no-cache"]);
    expect(await response.text()).toBe('{"access_token":"a","token_type":"Bearer","expires_in":900,"scope":"x"}');
  });

  test("to a code contains a refresh token and an ID token", async () => {
    const form = { grant_type: "authorization_code", code: "k", redirect_uri: "u", code_verifier: "v", ...CREDENTIALS };
    const json = await (await postForm(`${front.url}/oauth/token`, form)).json();
    expect(json).toMatchObject({ refresh_token: "r", id_token: "i" });
    expect(calls).toMatchObject([{ grant: { value: { code: "k" } }, requestId: expect.stringMatching(/^r\d+$/) }]);
  });
});

describe("RFC 6749 §5.2: refusals of the token endpoint", () => {
  test.for([
    ["no grant_type", CREDENTIALS, 400, "invalid_request"],
    ["an unknown grant, for any client", { grant_type: "password", client_id: "unknown" }, 400, "unsupported_grant_type"],
    [
      "jwt-bearer while it is off",
      { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: "x", ...CREDENTIALS },
      400,
      "unsupported_grant_type",
    ],
    ["a wrong secret", { ...GRANT, client_id: "c", client_secret: "t" }, 401, "invalid_client"],
    [
      "a wrong secret and missing parameters",
      { grant_type: "authorization_code", client_id: "c", client_secret: "t" },
      401,
      "invalid_client",
    ],
    ["missing parameters", { grant_type: "authorization_code", ...CREDENTIALS }, 400, "invalid_request"],
    ["no client", GRANT, 401, "invalid_client"],
    ["an invalid refresh token", { grant_type: "refresh_token", refresh_token: "x", ...CREDENTIALS }, 400, "invalid_grant"],
  ] as const)("refuses %s", async ([, form, status, error]) => {
    expect(await failure(await postForm(`${front.url}/oauth/token`, form))).toMatchObject([status, { error }]);
  });

  test("invalid_client has a challenge, and only the code for a wrong secret", async () => {
    const response = await postForm(`${front.url}/oauth/token`, GRANT);
    expect(response.headers.get("www-authenticate")).toBe(`Basic realm="${ISSUER}", charset="UTF-8"`);
    expect(await response.json()).toEqual({ error: "invalid_client" });
  });

  test.for([
    ["Basic and a secret", { client_secret: "s" }],
    ["Basic and an assertion", { client_assertion: "a", client_assertion_type: "t" }],
  ] as const)("refuses two authentication methods at once: %s", async ([, extra]) => {
    const response = await postForm(`${front.url}/oauth/token`, { ...GRANT, ...extra }, { authorization: basic });
    expect(await failure(response)).toEqual([401, { error: "invalid_client" }]);
  });

  test("a malformed Authorization header returns 401", async () => {
    for (const authorization of ["Basic !", "Bearer x", "Basic"]) {
      expect((await postForm(`${front.url}/oauth/token`, GRANT, { authorization })).status).toBe(401);
    }
  });
});

describe.for([["/oauth/token"], ["/oauth/introspect"], ["/oauth/revoke"]] as const)("bad input at %s", ([path]) => {
  const good = { ...GRANT, ...CREDENTIALS, token: "live" };

  test("a valid request returns 200", async () => {
    expect((await postForm(front.url + path, good)).status).toBe(200);
  });

  test.for([
    ["grant_type twice", "grant_type=client_credentials&grant_type=client_credentials&token=x&client_id=c&client_secret=s"],
    ["client_id twice", "client_id=c&client_id=c&client_secret=s&token=x&grant_type=client_credentials"],
    ["an unknown parameter twice", "x=1&x=2&client_id=c&client_secret=s&token=x&grant_type=client_credentials"],
    ["NUL", "token=%00&client_id=c&client_secret=s&grant_type=client_credentials"],
    ["invalid UTF-8", "token=%ff&client_id=c&client_secret=s&grant_type=client_credentials"],
    ["broken escapes", "token=%4&client_id=c&client_secret=s&grant_type=client_credentials"],
    [
      "1 200 parameters, the required ones last,",
      `${Array.from({ length: 1196 }, (_, i) => `p${i}=x`).join("&")}&${new URLSearchParams(good)}`,
    ],
  ] as const)("%s returns 400 invalid_request", async ([, body]) => {
    const [status, json] = await failure(await postForm(front.url + path, body));
    expect([status, json]).toMatchObject([400, { error: "invalid_request", error_description: expect.not.stringContaining("missing") }]);
  });

  test("an empty body returns invalid_request at the token endpoint and invalid_client at the others", async () => {
    const expected = path === "/oauth/token" ? [400, { error: "invalid_request" }] : [401, { error: "invalid_client" }];
    expect(await failure(await postForm(front.url + path, ""))).toMatchObject(expected);
  });

  test.for([
    ["application/json"],
    ["multipart/form-data; boundary=x"],
    ["text/plain"],
    ["application/x-www-form-urlencoded, text/plain"],
  ] as const)("media type %s returns 400 invalid_request", async ([type]) => {
    const response = await fetch(front.url + path, {
      method: "POST",
      headers: { "content-type": type },
      body: new URLSearchParams(good).toString(),
    });
    expect(await failure(response)).toMatchObject([400, { error: "invalid_request" }]);
  });

  test("a missing media type returns 400", async () => {
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\na=1`;
    expect(await rawRequest(front.port, head)).toMatch(/^HTTP\/1.1 400 /);
  });

  test("a credential in the query returns 400 and does not reach the core", async () => {
    for (const query of ["client_secret=s", "token=live", "client%5fassertion=x"]) {
      expect(await failure(await postForm(`${front.url}${path}?${query}`, good))).toMatchObject([400, { error: "invalid_request" }]);
    }
    expect(calls).toEqual([]);
  });

  test("a body over 64 KiB returns 413, and an encoded body 415", async () => {
    expect((await postForm(front.url + path, `token=${"x".repeat(65_531)}`)).status).toBe(413);
    expect((await postForm(front.url + path, "x", { "content-encoding": "gzip" })).status).toBe(415);
  });

  test("another method returns 405 with Allow", async () => {
    for (const method of ["GET", "PUT", "DELETE", "HEAD"]) {
      const response = await fetch(front.url + path, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  test("returns 503 with Retry-After while the core is down", async () => {
    const response = await postForm(frontWithoutCore.url + path, good);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await response.json()).toEqual({ error: "temporarily_unavailable" });
  });

  test("allows any origin, except at introspection", async () => {
    const allowed = path === "/oauth/introspect" ? null : "*";
    const headers = { origin: "https://evil.test" };
    expect((await postForm(front.url + path, good, headers)).headers.get("access-control-allow-origin")).toBe(allowed);
    const preflight = await fetch(front.url + path, { method: "OPTIONS", headers });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([allowed ? 204 : 405, allowed]);
  });
});

describe("RFC 7662: introspection", () => {
  const introspect = async (token: string) => (await postForm(`${front.url}/oauth/introspect`, { token, ...CREDENTIALS })).text();

  test("returns the claims of an active token, and a single audience as a string", async () => {
    expect(JSON.parse(await introspect("live"))).toEqual({
      active: true,
      sub: "u",
      client_id: "c",
      scope: "x",
      aud: "https://rs.example",
      iss: ISSUER,
      exp: 2,
      iat: 1,
      token_type: "Bearer",
    });
  });

  test("returns the nested actors of a delegated token, the current one outermost", async () => {
    expect(JSON.parse(await introspect("delegated"))).toMatchObject({ aud: ["a", "b"], act: { sub: "B", act: { sub: "A" } } });
  });

  test("returns only `active` for any other token", async () => {
    expect(await introspect("rubbish")).toBe('{"active":false}');
  });

  test("requires the token parameter after client authentication", async () => {
    expect(await failure(await postForm(`${front.url}/oauth/introspect`, CREDENTIALS))).toMatchObject([400, { error: "invalid_request" }]);
    expect((await postForm(`${front.url}/oauth/introspect`, { client_id: "c" })).status).toBe(401);
  });
});

describe("RFC 7009: revocation", () => {
  test("returns 200 with an empty body, whatever token_type_hint says", async () => {
    const response = await postForm(`${front.url}/oauth/revoke`, { token: "t", token_type_hint: "nonsense", ...CREDENTIALS });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(calls).toMatchObject([{ token: "t", tokenTypeHint: "nonsense" }]);
  });

  test("requires the token parameter after client authentication", async () => {
    expect(await failure(await postForm(`${front.url}/oauth/revoke`, CREDENTIALS))).toMatchObject([400, { error: "invalid_request" }]);
    expect((await postForm(`${front.url}/oauth/revoke`, { client_id: "c" })).status).toBe(401);
  });
});

describe("OIDC Core §5.3: userinfo", () => {
  const userinfo = (authorization?: string, method = "GET", query = "") =>
    fetch(`${front.url}/oauth/userinfo${query}`, { method, headers: authorization === undefined ? {} : { authorization } });
  const challengeOf = async (response: Response) => [response.status, response.headers.get("www-authenticate")];

  test.for([["GET"], ["POST"]] as const)("returns the claims by %s", async ([method]) => {
    const response = await userinfo("Bearer good", method);
    expect(await response.json()).toEqual({ sub: "u", email: "me@example.test", email_verified: true });
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
  });

  test("omits the email address without its scope or if it is not verified", async () => {
    expect(await (await userinfo("Bearer noemail")).json()).toEqual({ sub: "u" });
    expect(await (await userinfo("Bearer unverified")).json()).toEqual({ sub: "u" });
  });

  test("returns the challenges of RFC 6750", async () => {
    const bare = await userinfo();
    expect(await challengeOf(bare)).toEqual([401, eitherScheme(ISSUER)]);
    expect(await bare.json()).toEqual({});
    expect(await challengeOf(await userinfo(basic))).toEqual([401, eitherScheme(ISSUER)]);
    expect(await challengeOf(await userinfo("Bearer bad"))).toEqual([401, `Bearer realm="${ISSUER}", error="invalid_token"`]);
    expect(await challengeOf(await userinfo("Bearer narrow"))).toEqual([
      403,
      `Bearer realm="${ISSUER}", error="insufficient_scope", scope="openid"`,
    ]);
  });

  test.for([
    ["a malformed header", "Bearer a b", ""],
    ["a header without a token", "Bearer", ""],
    ["a token in the query", undefined, "?access_token=good"],
  ] as const)("RFC 6750 §3: %s returns 400 invalid_request with a challenge", async ([, authorization, query]) => {
    const response = await userinfo(authorization, "GET", query);
    expect(await challengeOf(response)).toEqual([400, `Bearer realm="${ISSUER}", error="invalid_request"`]);
    expect(await response.json()).toMatchObject({ error: "invalid_request" });
  });

  test("returns 503 with Retry-After while the core is down", async () => {
    const response = await fetch(`${frontWithoutCore.url}/oauth/userinfo`, { headers: { authorization: "Bearer good" } });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  });
});

test("no request of this file causes a fault", () => {
  expect(front.faults).toEqual([]);
  expect(frontWithoutCore.faults).toEqual([]);
});
