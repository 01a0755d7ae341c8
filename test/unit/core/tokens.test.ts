import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { assertUse } from "../../../src/core/bearer.ts";
import { mayIntrospect } from "../../../src/core/introspection.ts";
import {
  accessTokenClaims,
  actorsOf,
  ancestors,
  asAccessToken,
  delegationJti,
  newJti,
  ownJti,
  stateHolds,
  tokenReference,
} from "../../../src/core/tokens/access-token.ts";
import { identityAssertionClaims, idTokenClaims, readIdTokenHint } from "../../../src/core/tokens/id-token.ts";
import { AccessTokenUse } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { isUuid } from "../../../src/random.ts";
import { aClient, aSubject, aTokenState, refusalOf } from "../../support/builders.ts";

const ISSUER = "https://issuer.example.test";
const GRANT = "01900000-0000-7000-8000-00000000000d";
const USER = "01900000-0000-7000-8000-00000000000a";
const contents = {
  issuer: ISSUER,
  subject: USER,
  audience: ["https://a.example.test/"],
  clientId: "app",
  scopes: ["a", "b"],
  jti: newJti(randomBytes, GRANT),
  now: 1000,
  lifetime: 900,
};

test("docs/protocol.md#access-tokens: an access token has exactly these claims", () => {
  expect(accessTokenClaims(contents)).toEqual({
    iss: ISSUER,
    sub: USER,
    aud: "https://a.example.test/",
    client_id: "app",
    scope: "a b",
    iat: 1000,
    exp: 1900,
    jti: contents.jti,
    token_use: "access",
  });
});

test("an exchanged token names its ancestor tokens, the nearest first, unless its parent does not", () => {
  const root = accessTokenClaims(contents);
  const first = accessTokenClaims({ ...contents, clientId: "agent-1", jti: delegationJti(GRANT), exchangedFrom: ancestors(root) });
  expect(first.exchanged_from).toEqual([{ jti: root.jti, client_id: "app" }]);
  expect(ancestors(first)).toEqual([
    { jti: first.jti, client_id: "agent-1" },
    { jti: root.jti, client_id: "app" },
  ]);
  const earlier = accessTokenClaims({ ...contents, clientId: "agent-1", jti: delegationJti(GRANT) });
  expect([ancestors(earlier), "exchanged_from" in accessTokenClaims({ ...contents, exchangedFrom: ancestors(earlier) })]).toEqual([
    undefined,
    false,
  ]);
});

test("RFC 7519 §4.1.3: several audiences are an array", () => {
  expect(accessTokenClaims({ ...contents, audience: ["x", "y"] }).aud).toEqual(["x", "y"]);
});

test("a user's token has its grant in the jti, and a client's own token the record of the client", () => {
  fc.assert(
    fc.property(fc.uuid(), (grantId) => {
      const claims = accessTokenClaims({ ...contents, jti: newJti(randomBytes, grantId) });
      expect(tokenReference(claims)).toEqual({ jti: claims.jti, clientId: "app", grantId, userId: USER });
    }),
  );
  fc.assert(
    fc.property(fc.uuid(), (clientRecord) => {
      const claims = accessTokenClaims({ ...contents, jti: ownJti(randomBytes, clientRecord) });
      expect(tokenReference(claims)).toEqual({ jti: claims.jti, clientId: "app", clientRecord });
    }),
  );
  const ofEarlierRelease = accessTokenClaims({ ...contents, jti: newJti(randomBytes) });
  expect(tokenReference(ofEarlierRelease)).toEqual({ jti: ofEarlierRelease.jti, clientId: "app" });
});

test("an exchanged token has its delegation in the jti, which is not taken for a grant", () => {
  fc.assert(
    fc.property(fc.uuid(), (delegationId) => {
      const claims = accessTokenClaims({ ...contents, jti: delegationJti(delegationId) });
      expect(tokenReference(claims)).toEqual({ jti: claims.jti, clientId: "app", userId: USER, delegationId });
    }),
  );
});

test("docs/protocol.md#access-tokens: only exchanged tokens have act", () => {
  const act = { sub: "agent-2", act: { sub: "agent-1" } };
  expect(accessTokenClaims({ ...contents, act }).act).toEqual(act);
  expect("act" in accessTokenClaims(contents)).toBe(false);
});

test.for([
  ["without the access-use marker", { token_use: undefined }],
  ["of another use", { token_use: "id" }],
  ["with a scope array", { scope: ["a"] }],
  ["with a numeric sub", { sub: 7 }],
  ["with an exp that is not a safe integer", { exp: 1e300 }],
  ["with an empty audience", { aud: [] }],
  ["with an object as audience", { aud: {} }],
  ["without jti", { jti: undefined }],
  ["with a NUL in the jti", { jti: "a\0b" }],
  ["with a NUL after the grant", { jti: `${contents.jti}\0` }],
  ["with a jti whose grant is not a UUID", { jti: "root.AAAAAAAAAAAAAAAA" }],
  ["with a jti whose delegation is not a UUID", { jti: "d.x" }],
  ["with a jti of three parts", { jti: `${contents.jti}.x` }],
  ["with a sub that is not a UUID", { sub: "user" }],
  ["with a NUL in client_id", { client_id: "a\0" }],
  ["with a lone surrogate in client_id", { client_id: "\ud800" }],
  ["with a quote in the scope", { scope: 'a "b"' }],
  ["with a NUL in aud", { aud: ["x", "\0"] }],
  ["with a negative exp", { exp: -1 }],
  ["with an exp beyond the range of timestamps", { exp: Number.MAX_SAFE_INTEGER }],
  ["with act null", { act: null }],
  ["with a string as act", { act: "agent" }],
  ["with a list as act", { act: [] }],
  ["with act without sub", { act: {} }],
  ["with a NUL in an actor", { act: { sub: "a\0" } }],
  ["with act null within act", { act: { sub: "a", act: null } }],
  ["with a numeric actor within act", { act: { sub: "a", act: { sub: 7 } } }],
  ["with may_act null", { may_act: null }],
  ["with a string as may_act", { may_act: "agent" }],
  ["with exchanged_from null", { exchanged_from: null }],
  ["with an ancestor without client_id", { exchanged_from: [{ jti: "x" }] }],
  ["with an ancestor without jti", { exchanged_from: [{ client_id: "x" }] }],
  ["with one valid ancestor of two", { exchanged_from: [{ jti: "x", client_id: "x" }, { jti: "x" }] }],
  ["with ancestors that are not a list", { exchanged_from: { jti: "x", client_id: "x" } }],
  ["with an empty client_id", { client_id: "" }],
  ["with an empty confirmation", { cnf: {} }],
  ["with two confirmations", { cnf: { jkt: "x", "x5t#S256": "x" } }],
  ["with a confirmation that is not an object", { cnf: "x" }],
  ["with an exp after the year 9999", { exp: 253_402_300_800 }],
] as const)("RFC 9068 §4: claims %s are not an access token", ([, members]) => {
  expect(asAccessToken({ ...accessTokenClaims(contents) })).toBeDefined();
  expect(asAccessToken({ ...accessTokenClaims(contents), ...members })).toBeUndefined();
});

test.for([
  ["with an empty scope", { scope: "" }],
  ["with several audiences", { aud: ["x", "y"] }],
  ["with iat 0", { iat: 0 }],
  ["with an exp at the end of the year 9999", { exp: 253_402_300_799 }],
  ["bound to a key", { cnf: { jkt: "x" } }],
  ["bound to a certificate", { cnf: { "x5t#S256": "x" } }],
  ["with ancestors", { exchanged_from: [{ jti: "x", client_id: "y" }] }],
  ["with an actor of an actor", { act: { sub: "a", act: { sub: "b" } } }],
  ["with may_act", { may_act: { sub: "a" } }],
] as const)("RFC 9068 §4: claims %s are an access token", ([, members]) => {
  const claims = { ...accessTokenClaims(contents), ...members };
  expect(asAccessToken(claims)).toBe(claims);
});

/** Any JSON value, with a bias to almost valid claims. */
const anyClaim = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(null, "", "\0", "d.", "d.x", ".", "a.b", contents.jti, delegationJti(GRANT), USER, 1e300, -1, [], {}, { sub: null }),
  fc.record({ sub: fc.jsonValue(), act: fc.jsonValue() }, { requiredKeys: [] }),
  fc.array(fc.record({ jti: fc.jsonValue(), client_id: fc.jsonValue() }, { requiredKeys: [] })),
);

test("arbitrary claims cause no error, and an accepted access token has storable values only", () => {
  const storable = (value: unknown): boolean => !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(value));
  fc.assert(
    fc.property(
      fc.constantFrom("sub", "aud", "client_id", "scope", "iat", "exp", "jti", "act", "may_act", "exchanged_from"),
      fc.constantFrom("act", "jti", "sub", "aud"),
      anyClaim,
      anyClaim,
      (one, other, first, second) => {
        const claims = asAccessToken({ ...accessTokenClaims(contents), [one]: first, [other]: second });
        if (claims === undefined) return;
        const { may_act: _, act, ...rest } = claims;
        expect(storable(rest)).toBe(true);
        expect(actorsOf(act).every((sub) => typeof sub === "string" && storable(sub))).toBe(true);
        const { userId, grantId = GRANT, delegationId = GRANT } = tokenReference(claims);
        expect([userId ?? USER, grantId, delegationId].every(isUuid)).toBe(true);
        ancestors(claims);
      },
    ),
    { numRuns: 2000 },
  );
});

const STATED = { acr: "urn:countersign:mfa", amr: ["pwd", "otp"], requested: ["urn:countersign:pwd"] };

const idToken = {
  issuer: ISSUER,
  subject: aSubject(),
  clientId: "app",
  scopes: ["openid"],
  authTime: 990,
  nonce: null,
  now: 1000,
  lifetime: 900,
};
const always = { iss: ISSUER, sub: aSubject().userId, aud: "app", exp: 1900, iat: 1000, auth_time: 990 };

test.for([
  ["name needs no scope", {}, { name: "Ada Lovelace" }],
  ["one name part is enough", { subject: aSubject({ firstName: null }) }, { name: "Lovelace" }],
  ["an empty name part is omitted", { subject: aSubject({ firstName: "" }) }, { name: "Lovelace" }],
  ["without a name there is no name claim", { subject: aSubject({ firstName: null, lastName: null }) }, {}],
  [
    "email needs its scope and a verified address",
    { scopes: ["openid", "email"] },
    { name: "Ada Lovelace", email: "ada@example.test", email_verified: true },
  ],
  [
    "email is omitted before verification",
    { scopes: ["openid", "email"], subject: aSubject({ emailVerified: false }) },
    { name: "Ada Lovelace" },
  ],
  ["sid is there for clients that are notified of its end", { sid: "s1" }, { name: "Ada Lovelace", sid: "s1" }],
  [
    "acr and amr are there when the request had acr_values",
    { authentication: { ...STATED, inIdToken: true } },
    { name: "Ada Lovelace", acr: "urn:countersign:pwd", amr: ["pwd", "otp"] },
  ],
  ["acr and amr are omitted otherwise", { authentication: { ...STATED, inIdToken: false } }, { name: "Ada Lovelace" }],
  ["the nonce is returned unmodified", { nonce: " n-0S6_WzA2Mj " }, { name: "Ada Lovelace", nonce: " n-0S6_WzA2Mj " }],
] as const)("docs/protocol.md#id-tokens: %s", ([, members, expected]) => {
  expect(idTokenClaims({ ...idToken, ...members })).toEqual({ ...always, ...expected });
});

const assertion = { ...contents, subject: aSubject(), audience: "https://other.example.test", resources: [] as string[], authTime: 990 };
const asserted = {
  iss: ISSUER,
  sub: USER,
  aud: "https://other.example.test",
  client_id: "app",
  jti: contents.jti,
  iat: 1000,
  exp: 1900,
  auth_time: 990,
  scope: "a b",
};
const EMAIL = { scopes: ["a", "email"] };

test.for([
  ["has no resource where none was requested", {}, {}],
  ["names one resource as a text", { resources: ["https://r.example.test/"] }, { resource: "https://r.example.test/" }],
  [
    "names several resources as a list",
    { resources: ["https://r.example.test/", "https://s.example.test/"] },
    { resource: ["https://r.example.test/", "https://s.example.test/"] },
  ],
  ["has the address of the user for the scope email", EMAIL, { scope: "a email", email: "ada@example.test", email_verified: true }],
  ["has no address that is not verified", { ...EMAIL, subject: aSubject({ emailVerified: false }) }, { scope: "a email" }],
  ["names who acts", { act: { sub: "agent" } }, { act: { sub: "agent" } }],
  ["is bound to the key of the client", { cnf: { jkt: "thumb" } }, { cnf: { jkt: "thumb" } }],
] as const)("ID-JAG §3: an identity assertion %s", ([, members, expected]) => {
  expect(identityAssertionClaims({ ...assertion, ...members })).toEqual({ ...asserted, ...expected });
});

test.for([
  [
    { sub: "u", aud: "c", sid: "s" },
    { sub: "u", aud: "c", sid: "s" },
  ],
  [
    { sub: "u", aud: "c", sid: 7 },
    { sub: "u", aud: "c" },
  ],
  [{ sub: "u", aud: ["c"] }, undefined],
  [{ aud: "c" }, undefined],
  [undefined, undefined],
] as const)("OIDC Core §3.1.2.1: a hint with the claims %j is read as %j", ([found, expected]) => {
  const issuedTokens = { idToken: () => found } as unknown as Parameters<typeof readIdTokenHint>[1]["issuedTokens"];
  expect(readIdTokenHint("token", { issuedTokens })).toEqual(expected);
});

const claims = accessTokenClaims(contents);

test.for([
  ["the client that it was issued to", aClient({ clientId: "app" }), true],
  ["a client whose audience is its resource", aClient({ clientId: "rs", audience: ["https://a.example.test/"] }), true],
  [
    "a client whose audience is its resource without the root path",
    aClient({ clientId: "rs", audience: ["https://a.example.test"] }),
    true,
  ],
  ["a client whose audience is another resource", aClient({ clientId: "rs", audience: ["https://b.example.test/"] }), false],
  ["any other client", aClient({ clientId: "rs" }), false],
] as const)("docs/protocol.md#introspection: %s may introspect a token: %s", ([, caller, expected]) => {
  expect(mayIntrospect(caller, claims)).toBe(expected);
});

const live = aTokenState();
test.for([
  ["a valid state", {}, true],
  ["a revoked token", { revoked: true }, false],
  ["a revoked grant", { grantLives: false }, false],
  ["a disabled client", { clientEnabled: false }, false],
  ["a deleted user", { subject: null }, false],
  ["a disabled user", { subject: { ...aSubject(), role: "developer", enabled: false } }, false],
] as const)("docs/protocol.md#introspection: with %s a user's token is active: %s", ([, members, expected]) => {
  expect(stateHolds(claims, { ...live, ...members })).toBe(expected);
});

test("a client credentials token depends on neither a grant nor a user", () => {
  const own = accessTokenClaims({ ...contents, subject: "app", jti: newJti(randomBytes) });
  expect(stateHolds(own, { ...live, grantLives: false, subject: null })).toBe(true);
});

test.for([
  ["userinfo without openid", { scopes: ["email"] }, AccessTokenUse.USERINFO, ["insufficient_scope", "openid_missing"]],
  ["userinfo with any audience", { scopes: ["openid"] }, AccessTokenUse.USERINFO, "granted"],
  [
    "management with a token for a resource",
    { clientId: "countersign" },
    AccessTokenUse.MANAGEMENT,
    ["invalid_token", "audience_is_not_the_issuer"],
  ],
  ["management with a login token", { clientId: "countersign", audience: [ISSUER] }, AccessTokenUse.MANAGEMENT, "granted"],
  ["management by another client", { audience: [ISSUER] }, AccessTokenUse.MANAGEMENT, ["insufficient_scope", "clients_manage_missing"]],
  ["management by a client with clients:manage", { audience: [ISSUER], scopes: ["clients:manage"] }, AccessTokenUse.MANAGEMENT, "granted"],
  ["logout with a login token", { clientId: "countersign", audience: [ISSUER] }, AccessTokenUse.LOGOUT, "granted"],
  ["logout with an application's own token", { clientId: "web", audience: ["web"] }, AccessTokenUse.LOGOUT, "granted"],
  [
    "logout with a token for a resource",
    { clientId: "web", audience: ["web", "https://r.example"] },
    AccessTokenUse.LOGOUT,
    ["invalid_token", "bound_to_a_resource"],
  ],
  [
    "logout with a delegated token",
    { clientId: "agent", audience: ["agent"], act: { sub: "agent" } },
    AccessTokenUse.LOGOUT,
    ["invalid_token", "delegated_token"],
  ],
  ["no use named", {}, AccessTokenUse.UNSPECIFIED, ["invalid_request", "use_not_named"]],
] as const)("docs/protocol.md#client-management: %s", ([, members, use, expected]) => {
  expect(refusalOf(() => assertUse(accessTokenClaims({ ...contents, ...members }), use, ISSUER))).toEqual(expected);
});
