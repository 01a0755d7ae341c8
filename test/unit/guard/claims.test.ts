import { describe, expect, test } from "vitest";
import { readPrincipal } from "../../../guard-sdk/src/claims.ts";
import { settle } from "../../../guard-sdk/src/options.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const NOW = 1_800_000_000;
const ISSUER = "https://as.example";
const RESOURCE = "https://notes.example/mcp";
const profileOf = (resource: string) => {
  const { audiences, issuers } = settle({ resource, authorizationServers: [ISSUER, "https://other.example/realm"] });
  return { audiences, issuers: new Set(issuers) };
};
const profile = profileOf(RESOURCE);
const good = {
  iss: ISSUER,
  sub: "ada",
  aud: RESOURCE,
  exp: NOW + 1,
  iat: NOW,
  scope: "a b",
  client_id: "c",
  jti: "j",
  token_use: "access",
};
const actors = (depth: number): object => (depth === 1 ? { sub: "agent1" } : { sub: `agent${depth}`, act: actors(depth - 1) });

test("the principal has the claims of the token", () => {
  expect(readPrincipal({ ...good, act: actors(3) }, profile, NOW)).toEqual({
    sub: "ada",
    clientId: "c",
    scopes: ["a", "b"],
    actors: ["agent3", "agent2", "agent1"],
    audience: [RESOURCE],
    expiresAt: NOW + 1,
    issuer: ISSUER,
  });
});

test("accepts a token with only the required claims of docs/protocol.md#access-tokens", () => {
  const principal = readPrincipal({ iss: ISSUER, sub: "ada", aud: [RESOURCE], exp: NOW + 1 }, profile, NOW);
  expect(principal).toMatchObject({ clientId: undefined, scopes: [], actors: [] });
});

test("the principal is frozen", () => {
  const principal = readPrincipal(good, profile, NOW);
  expect([principal, principal.scopes, principal.actors, principal.audience].every(Object.isFrozen)).toBe(true);
});

test.for([
  ["a further audience", { aud: ["https://other.example", RESOURCE] }],
  ["another configured issuer", { iss: "https://other.example/realm" }],
  ["no token_use", { token_use: undefined }],
  ["an issuer whose clock runs a minute ahead", { iat: NOW + 60, nbf: NOW + 60 }],
  ["an nbf in the past", { nbf: NOW - 1 }],
] as const)("accepts %s", ([, change]) => {
  expect(readPrincipal({ ...good, ...change }, profile, NOW).sub).toBe("ada");
});

describe("a token that is bound to a key (RFC 7800 §3.1)", () => {
  test("RFC 9449 §6.1: names the key by its thumbprint", () => {
    expect(readPrincipal({ ...good, cnf: { jkt: "thumbprint" } }, profile, NOW).jkt).toBe("thumbprint");
    expect(readPrincipal(good, profile, NOW)).not.toHaveProperty("jkt");
  });

  test.for([
    ["by a certificate", { "x5t#S256": "thumbprint" }],
    ["by two methods", { jkt: "thumbprint", "x5t#S256": "thumbprint" }],
    ["by an unknown method", { kid: "k" }],
    ["by no method", {}],
    ["malformed", "thumbprint"],
  ] as const)("is refused %s", async ([, cnf]) => {
    expect(await refusalOf(() => readPrincipal({ ...good, cnf }, profile, NOW))).toEqual(["invalid_token", "token_bound"]);
  });
});

describe("refuses", () => {
  test.for([
    ["issuer_unknown", { iss: `${ISSUER}/` }],
    ["issuer_unknown", { iss: "https://AS.example" }],
    ["issuer_unknown", { iss: undefined }],
    ["issuer_unknown", { iss: [ISSUER] }],
    ["audience_foreign", { aud: "https://other.example" }],
    ["audience_foreign", { aud: `${RESOURCE}/` }],
    ["audience_foreign", { aud: "https://notes.example" }],
    ["audience_foreign", { aud: [] }],
    ["claim_malformed", { aud: undefined }],
    ["claim_malformed", { aud: { 0: RESOURCE } }],
    ["claim_malformed", { aud: [RESOURCE, 1] }],
    ["expiry_missing", { exp: undefined }],
    ["token_expired", { exp: NOW }],
    ["token_expired", { exp: NOW - 1 }],
    ["claim_malformed", { exp: 1e300 }],
    ["claim_malformed", { exp: String(NOW + 1) }],
    ["claim_malformed", { exp: NOW + 0.5 }],
    ["token_from_the_future", { nbf: NOW + 61 }],
    ["token_from_the_future", { iat: NOW + 61 }],
    ["claim_malformed", { iat: "now" }],
    ["use_foreign", { token_use: "id" }],
    ["use_foreign", { token_use: null }],
    ["token_bound", { cnf: { kid: "thumb" } }],
    ["subject_missing", { sub: undefined }],
    ["subject_missing", { sub: "" }],
    ["subject_missing", { sub: { id: 1 } }],
    ["claim_malformed", { client_id: 7 }],
    ["claim_malformed", { scope: ["a"] }],
    ["actors_malformed", { act: "agent" }],
    ["actors_malformed", { act: null }],
    ["actors_malformed", { act: {} }],
    ["actors_malformed", { act: { sub: "agent", act: { sub: 1 } } }],
    ["actors_malformed", { act: actors(11) }],
  ] as const)("%s: %j", async ([reason, change]) => {
    expect(await refusalOf(() => readPrincipal({ ...good, ...change }, profile, NOW))).toEqual(["invalid_token", reason]);
  });
});

describe("the slash of a root resource is optional; other resources match exactly", () => {
  test.for([
    ["https://h.example", "https://h.example/", true],
    ["https://h.example/", "https://h.example", true],
    ["https://h.example", "https://h.example", true],
    ["https://h.example", "https://h.example//", false],
    ["https://h.example", "http://h.example", false],
    ["https://h.example/a", "https://h.example/a/", false],
    ["https://h.example/a/", "https://h.example/a", false],
    ["https://h.example/?x", "https://h.example?x", false],
  ] as const)("%s and %s match: %s", ([resource, aud, same]) => {
    const read = () => readPrincipal({ ...good, aud }, profileOf(resource), NOW);
    if (same) expect(read().audience).toEqual([aud]);
    else expect(read).toThrow("audience_foreign");
  });
});
