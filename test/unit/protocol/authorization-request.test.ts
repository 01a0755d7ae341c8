import { describe, expect, test } from "vitest";
import {
  authorizationQuery,
  parseAuthorizationRequest,
  pushedReference,
  redirectWith,
  tooLong,
} from "../../../src/protocol/authorization-request.ts";

describe("parsing an authorization request", () => {
  test("reads every parameter", () => {
    const query =
      "response_type=code&client_id=c&redirect_uri=https%3A%2F%2Fc.example%2Fcb&code_challenge=x&code_challenge_method=S256" +
      "&scope=openid+email&state=s&nonce=n&resource=https%3A%2F%2Fa&resource=https%3A%2F%2Fb&response_mode=query&prompt=login" +
      "&max_age=0&login_hint=me%40example.test&id_token_hint=h&ui_locales=de&display=page";
    expect(parseAuthorizationRequest(query)).toEqual({
      clientId: "c",
      redirectUri: "https://c.example/cb",
      responseType: "code",
      codeChallenge: "x",
      codeChallengeMethod: "S256",
      scope: "openid email",
      state: "s",
      nonce: "n",
      resource: ["https://a", "https://b"],
      responseMode: "query",
      prompt: "login",
      maxAge: "0",
      loginHint: "me@example.test",
      idTokenHint: "h",
      repeatedParameters: [],
      unsupportedParameters: [],
    });
  });

  test("lists repeated and unsupported parameters", () => {
    const request = parseAuthorizationRequest(
      "client_id=a&client_id=b&state=&state=x&request=j&request_uri=u&registration=r&resource=1&resource=2",
    );
    expect(request.repeatedParameters).toEqual(["client_id", "state"]);
    expect(request.unsupportedParameters).toEqual(["request", "request_uri", "registration"]);
  });

  test("treats missing and empty parameters as absent", () => {
    const request = parseAuthorizationRequest("state=&scope");
    expect([request.clientId, request.redirectUri, request.state, request.scope]).toEqual(["", "", undefined, undefined]);
  });
});

describe("building a redirect", () => {
  test.for([
    [
      "https://Client.example.com:443/cb?x=a%20b",
      { code: "c", state: undefined, iss: "https://as.example" },
      "https://Client.example.com:443/cb?x=a%20b&code=c&iss=https%3A%2F%2Fas.example",
    ],
    ["com.example.app:/cb", { code: "c" }, "com.example.app:/cb?code=c"],
    ["https://c/cb", { state: "\r\nSet-Cookie: x=1" }, "https://c/cb?state=%0D%0ASet-Cookie%3A%20x%3D1"],
    ["https://c/cb", { state: `"><script>'()*!` }, "https://c/cb?state=%22%3E%3Cscript%3E%27%28%29%2A%21"],
  ] as const)("%s", ([uri, parameters, expected]) => {
    expect(redirectWith(uri, parameters)).toBe(expected);
  });

  test("state is returned unchanged", () => {
    const state = "a+b %2B&=é😀";
    const location = redirectWith("https://c/cb", { state: parseAuthorizationRequest(`state=${encodeURIComponent(state)}`).state });
    expect(new URL(location).searchParams.get("state")).toBe(state);
  });
});

describe("a stored authorization request", () => {
  const query = new URLSearchParams({
    client_id: "c",
    redirect_uri: "https://c.example/cb?a=b&c=%20",
    state: "ü &=+%",
    scope: "openid email",
    max_age: "0",
    id_token_hint: "h",
    unknown: "dropped",
  });
  query.append("resource", "https://a");
  query.append("resource", "https://b");

  test("parses to the same request", () => {
    const request = parseAuthorizationRequest(query.toString());
    expect(authorizationQuery(request)).not.toContain("dropped");
    expect(parseAuthorizationRequest(authorizationQuery(request))).toEqual(request);
  });

  test("is limited by its encoded length", () => {
    expect(tooLong({ state: "s".repeat(2048), clientId: "c".repeat(1900) })).toBeUndefined();
    expect(tooLong({ state: "s".repeat(2049) })).toEqual({ what: "state", limit: 2048 });
    expect(tooLong({ nonce: "é".repeat(86) })).toEqual({ what: "nonce", limit: 512 });
    expect(tooLong({ resource: Array.from({ length: 10 }, () => "r".repeat(500)) })).toEqual({ what: "The whole request", limit: 4096 });
  });
});

describe("the pushed request that an authorization request names", () => {
  const uri = "urn:ietf:params:oauth:request_uri:abc";
  const named = `request_uri=${encodeURIComponent(uri)}`;

  test.for([
    [`client_id=c&${named}`, { clientId: "c", requestUri: uri }],
    [`${named}&scope=x&state=a&state=b&client_id=c`, { clientId: "c", requestUri: uri }],
    ["client_id=c&scope=openid", undefined],
    ["client_id=c&request_uri=https%3A%2F%2Fclient.example.test%2Frequest.jwt", undefined],
    ["client_id=c&request_uri=", undefined],
  ] as const)("%s", ([query, expected]) => {
    expect(pushedReference(query)).toEqual(expected);
  });

  test.for([named, `client_id=&${named}`, `client_id=c&client_id=d&${named}`, `client_id=c&${named}&${named}`])(
    "%s is refused",
    (query) => {
      expect(() => pushedReference(query)).toThrow("pushed_reference_malformed");
    },
  );
});
