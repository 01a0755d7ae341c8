import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { CorePorts } from "../../../src/core/ports.ts";
import { headerSegment } from "../../../src/core/signing/jws.ts";
import type { TokenState } from "../../../src/core/stored-grants.ts";
import { accessTokenClaims, delegationJti, newJti } from "../../../src/core/tokens/access-token.ts";
import { Refusal } from "../../../src/errors.ts";
import {
  AccessTokenUse,
  IntrospectRequestSchema,
  LoginTokensRequestSchema,
  RevokeRequestSchema,
  TokenRequestSchema,
  ValidateLogoutRequestSchema,
  VerifyAccessTokenRequestSchema,
  VerifyApiKeyRequestSchema,
} from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { hashSecret } from "../../../src/random.ts";
import { aClient, aFamily, aSubject, aTokenState } from "../../support/builders.ts";
import { ask, claimsOf, ISSUER, type MemoryWorld, memoryCore, NOW, tokenOf } from "../../support/memory-core.ts";

const GRANT_ID = "01900000-0000-7000-8000-00000000000d";
const FIRST_PARTY = "countersign";
const USER = aSubject().userId;
const basic = { basic: { clientId: "notes-app", clientSecret: "the-secret" }, address: "192.0.2.1" };
const randomBytes = (size: number) => new Uint8Array(size);

const claims = (members: object = {}) => ({
  ...accessTokenClaims({
    issuer: ISSUER,
    subject: USER,
    audience: ["notes-app"],
    clientId: "notes-app",
    scopes: ["openid", "email"],
    jti: newJti(randomBytes, GRANT_ID),
    now: NOW,
    lifetime: 900,
  }),
  ...members,
});

/** A port that returns one state for every token, and records its calls. */
function states(state: Partial<TokenState> = {}, references: unknown[] = []) {
  const of = async (reference: unknown) => {
    references.push(reference);
    return aTokenState(state);
  };
  return ({ tokens }: CorePorts) => ({ tokens: { ...tokens, of } });
}

describe("introspection", () => {
  async function introspect(tokens: readonly string[], world: MemoryWorld = {}, client: object = basic) {
    const { core, writes } = await memoryCore(world);
    const request = create(IntrospectRequestSchema, { client, tokens: [...tokens] } as MessageInitShape<typeof IntrospectRequestSchema>);
    const answer = await ask(core, "introspect", request);
    return { answer, writes, results: "results" in answer ? answer.results : undefined };
  }

  test("returns a state for each token in order", async () => {
    const token = await tokenOf(claims());
    const { results } = await introspect([token, "no token", await tokenOf(claims({ client_id: "other", aud: "elsewhere" }))]);
    expect(results).toEqual([
      {
        active: true,
        sub: USER,
        clientId: "notes-app",
        scope: "openid email",
        aud: ["notes-app"],
        iss: ISSUER,
        exp: NOW + 900,
        iat: NOW,
        tokenType: "Bearer",
      },
      { active: false },
      { active: false },
    ]);
  });

  test("returns actors and the key that a token is bound to", async () => {
    const act = { sub: "agent", act: { sub: "first" } };
    const dpop = await tokenOf(claims({ act, cnf: { jkt: "thumb" } }));
    const mtls = await tokenOf(claims({ cnf: { "x5t#S256": "certificate" } }));
    const { results } = await introspect([dpop, mtls]);
    expect(results?.[0]).toMatchObject({ act, cnf: { jkt: "thumb" }, tokenType: "DPoP" });
    expect(results?.[1]).toMatchObject({ cnf: { x5tS256: "certificate" }, tokenType: "Bearer" });
  });

  test("reads the state of a token at every introspection", async () => {
    const references: unknown[] = [];
    const { core } = await memoryCore({ ports: states({}, references) });
    const request = create(IntrospectRequestSchema, { client: basic, tokens: [await tokenOf(claims())] });
    const [first, second] = [await ask(core, "introspect", request), await ask(core, "introspect", request)];
    expect(second).toEqual(first);
    const reference = { jti: claims().jti, clientId: "notes-app", userId: USER, grantId: GRANT_ID };
    expect(references).toEqual([reference, reference]);
  });

  test("verifies no tokens for a caller that fails to authenticate", async () => {
    const of = () => Promise.reject(new Refusal("temporarily_unavailable", "database_gone"));
    let reads = 0;
    const tokens = { of: () => (++reads > 1 ? of() : Promise.resolve(aTokenState())), revoke: async () => undefined };
    const { core } = await memoryCore({ ports: () => ({ tokens }) });
    const request = { tokens: [await tokenOf(claims())] };
    const wrong = { basic: { clientId: "notes-app", clientSecret: "wrong" }, address: "192.0.2.1" };
    expect(await ask(core, "introspect", create(IntrospectRequestSchema, { ...request, client: wrong }))).toEqual([
      "invalid_client",
      "wrong_secret",
    ]);
    expect(reads).toBe(0);
    await ask(core, "introspect", create(IntrospectRequestSchema, { ...request, client: basic }));
    expect(await ask(core, "introspect", create(IntrospectRequestSchema, { ...request, client: wrong }))).toEqual([
      "invalid_client",
      "wrong_secret",
    ]);
    expect(reads).toBe(2); // the signature of the token is remembered, so that its state is read while the caller authenticates
    expect(await ask(core, "introspect", create(IntrospectRequestSchema, { ...request, client: basic }))).toEqual([
      "temporarily_unavailable",
      "database_gone",
    ]);
  });

  test("RFC 9068 §2.2.1: returns how and when the user authenticated, where the token says it", async () => {
    const token = await tokenOf(claims({ acr: "phr", amr: ["hwk", "user"], auth_time: 900 }));
    const { results } = await introspect([token, await tokenOf(claims())]);
    expect(results?.[0]).toMatchObject({ active: true, acr: "phr", amr: ["hwk", "user"], authTime: 900 });
    for (const member of ["acr", "amr", "authTime"]) expect(results?.[1]).not.toHaveProperty(member);
  });

  test.for<readonly [caller: readonly string[], aud: readonly string[], active: boolean]>([
    [["https://a.example.test", "https://b.example.test"], ["https://b.example.test", "https://c.example.test"], true],
    [["https://b.example.test"], ["https://b.example.test/"], true],
    [["https://a.example.test"], ["https://b.example.test", "https://c.example.test"], false],
  ])("shows a client of the resources %j a token for %j: %s", async ([audience, aud, active]) => {
    const token = await tokenOf(claims({ client_id: "other", aud }));
    const { results } = await introspect([token], { clients: [aClient({ audience })] });
    expect(results).toMatchObject([{ active }]);
  });

  test("RFC 9701 §5: returns the answer on one token as a JWT for the caller", async () => {
    const signed = async (...tokens: readonly string[]) => {
      const { core } = await memoryCore();
      const answer = await ask(core, "introspect", create(IntrospectRequestSchema, { client: basic, tokens: [...tokens], signed: true }));
      return claimsOf(String((answer as { jwt?: string }).jwt));
    };
    const token = await tokenOf(claims());
    expect(await signed(token)).toEqual({
      ...{ typ: "token-introspection+jwt", iss: ISSUER, aud: "notes-app", iat: NOW },
      token_introspection: {
        ...{ active: true, sub: USER, client_id: "notes-app", scope: "openid email", aud: "notes-app", iss: ISSUER },
        ...{ exp: NOW + 900, iat: NOW, token_type: "Bearer" },
      },
    });
    expect(await signed("no token")).toMatchObject({ token_introspection: { active: false } });
    expect(await signed(token, token)).toEqual({ typ: undefined });
  });

  test("accepts a secret by either method, and counts failures", async () => {
    const post = { clientId: "notes-app", clientSecret: "the-secret" };
    expect((await introspect([], {}, post)).answer).toEqual({ results: [] });
    const publicClient = aClient({ tokenEndpointAuthMethod: "none", secretHash: null });
    const { answer, writes } = await introspect([], { clients: [publicClient] }, { clientId: "notes-app", address: "192.0.2.1" });
    expect([answer, writes]).toEqual([["invalid_client", "method_not_registered"], [["throttle.failed", "notes-app", "192.0.2.1"]]]);
    expect((await introspect([], { clients: [publicClient] }, { clientId: "notes-app" })).writes).toEqual([
      ["throttle.failed", "notes-app", ""],
    ]);
  });

  test.for<readonly [string, Partial<TokenState>, boolean]>([
    ["whose lifetime has a second left", { now: NOW + 899 }, true],
    ["that has expired", { now: NOW + 900 }, false],
    ["that was revoked", { revoked: true }, false],
    ["whose client is disabled", { clientEnabled: false }, false],
    ["whose grant has ended", { grantLives: false }, false],
    ["whose user is disabled", { subject: { ...aSubject({ enabled: false }), role: "user" } }, false],
    ["whose user is deleted", { subject: null }, false],
    ["whose user has signed out", { root: { grantId: GRANT_ID, authTime: 900, signedOut: true } }, true],
  ])("reports the state of a token %s", async ([, state, active]) => {
    const { results } = await introspect([await tokenOf(claims())], { ports: states(state) });
    expect(results).toEqual([active ? expect.objectContaining({ active }) : { active }]);
  });

  test("and revocation know a token for a hundred resources, the most that a client can have", async () => {
    const audience = Array.from({ length: 100 }, (_, at) => `https://service-${at}.resources.internal.example.test/interfaces/of/it/${at}`);
    const { core, writes } = await memoryCore({ clients: [aClient({ audience })] });
    const grant = { case: "clientCredentials", value: { scope: "notes:read" } } as const;
    const issued = await ask(core, "token", create(TokenRequestSchema, { client: basic, grant }));
    const token = "accessToken" in issued ? String(issued.accessToken) : "";
    const request = create(IntrospectRequestSchema, { client: basic, tokens: [token] });
    expect(await ask(core, "introspect", request)).toMatchObject({ results: [{ active: true, aud: audience }] });
    await ask(core, "revoke", create(RevokeRequestSchema, { client: basic, token, requestId: "r1" }));
    expect(writes.map(([method]) => method)).toContain("token.revoke");
  });

  test("looks up no second signature for a token whose header promises none", async () => {
    const signature = new Uint8Array([1, 2, 3]);
    const references: string[] = [];
    const detachedSignatures = (ports: CorePorts) => ({
      detachedSignatures: {
        ...ports.detachedSignatures,
        async of(jti: string) {
          references.push(jti);
          return { alg: "ML-DSA-65", signature } as const;
        },
      },
    });
    const { results } = await introspect([await tokenOf(claims())], { ports: detachedSignatures });
    expect([results?.[0]?.pqcSignature, references]).toEqual([undefined, []]);
  });
});

describe("an API key", () => {
  const KEY = `csk_${"0".repeat(16)}_${"1".repeat(64)}`;
  const verify = async (key: string, known: string, client: object = basic) => {
    const byHash = async (hash: Uint8Array) =>
      Buffer.from(hash).equals(Buffer.from(hashSecret(known))) ? { keyId: "k1", client: aClient({ scopes: ["a", "b"] }) } : undefined;
    const { core } = await memoryCore({ ports: () => ({ apiKeys: { byHash } }) });
    return ask(
      core,
      "verifyApiKey",
      create(VerifyApiKeyRequestSchema, { client, key } as MessageInitShape<typeof VerifyApiKeyRequestSchema>),
    );
  };

  test("is active, with its client and the client's scopes", async () =>
    expect(await verify(KEY, KEY)).toEqual({ state: { active: true, keyId: "k1", clientId: "notes-app", scope: "a b" } }));
  test("is inactive when it is unknown or malformed", async () => {
    expect(await verify(KEY, "other")).toEqual({ state: { active: false } });
    expect(await verify("text", "text")).toEqual({ state: { active: false } });
  });
  test("is introspected for authenticated clients only", async () =>
    expect(await verify(KEY, KEY, { clientId: "notes-app" })).toEqual(["invalid_client", "method_not_registered"]));
});

describe("revocation", () => {
  async function revoke(token: string, world: MemoryWorld = {}) {
    const { core, writes } = await memoryCore(world);
    const answer = await ask(core, "revoke", create(RevokeRequestSchema, { client: basic, token, requestId: "r1" }));
    return { answer, writes };
  }
  const record = {
    event: "token.revoked",
    outcome: "success",
    actor: { type: "client", id: "notes-app" },
    clientId: "notes-app",
    requestId: "r1",
  };

  test("of a refresh token revokes its family and grant", async () => {
    const { answer, writes } = await revoke("a".repeat(64), { family: aFamily() });
    const { familyId, grantId } = aFamily();
    expect([answer, writes]).toEqual([{}, [["family.revoke", familyId, { ...record, userId: USER, grantId }]]]);
  });

  test.for<readonly [string, string, MemoryWorld]>([
    ["a refresh token of another client", "a".repeat(64), { family: aFamily({ clientId: "other" }) }],
    ["an unknown refresh token", "a".repeat(64), {}],
    ["a refresh token with a prefix", `x${"a".repeat(64)}`, { family: aFamily() }],
    ["a refresh token with a suffix", `${"a".repeat(64)}x`, { family: aFamily() }],
    ["any other text", "text", {}],
  ])("ignores %s", async ([, token, world]) => expect(await revoke(token, world)).toEqual({ answer: {}, writes: [] }));

  test("ignores an access token of another client", async () =>
    expect((await revoke(await tokenOf(claims({ client_id: "other" })))).writes).toEqual([]));

  test("of an access token revokes that token only, and records its user, grant and chain", async () => {
    const { writes } = await revoke(await tokenOf(claims()));
    const { jti } = claims();
    const reference = { jti, clientId: "notes-app", userId: USER, grantId: GRANT_ID };
    expect(writes).toEqual([["token.revoke", reference, NOW + 900, { ...record, jti, userId: USER, grantId: GRANT_ID }]]);
    const delegated = delegationJti(GRANT_ID);
    const chained = await revoke(await tokenOf(claims({ jti: delegated, act: { sub: "b", act: { sub: "a" } } })));
    expect(chained.writes[0]?.[3]).toEqual({ ...record, jti: delegated, userId: USER, actChain: ["b", "a"] });
    const own = newJti(randomBytes);
    expect((await revoke(await tokenOf(claims({ jti: own, sub: "notes-app" })))).writes[0]?.[3]).toEqual({ ...record, jti: own });
  });
});

describe("verification of a bearer token for the server's own routes", () => {
  const { USERINFO, MANAGEMENT, LOGOUT } = AccessTokenUse;
  async function verify(token: string, use: AccessTokenUse, state: Partial<TokenState> = {}) {
    const { core } = await memoryCore({ ports: states(state) });
    return ask(core, "verifyAccessToken", create(VerifyAccessTokenRequestSchema, { accessToken: token, use }));
  }

  test("returns its user, client and scopes, and a verified address", async () => {
    const token = await tokenOf(claims());
    const user = { sub: USER, clientId: "notes-app", scopes: ["openid", "email"], role: "developer", grantId: GRANT_ID };
    expect(await verify(token, USERINFO)).toEqual({ ...user, email: "ada@example.test" });
    const unverified = { subject: { ...aSubject({ emailVerified: false }), role: "developer" } };
    expect(await verify(token, USERINFO, unverified)).toEqual(user);
    expect(await verify(await tokenOf(claims({ scope: "openid" })), USERINFO)).toEqual({ ...user, scopes: ["openid"] });
  });

  test.for<readonly [string, object, AccessTokenUse, Partial<TokenState>, readonly string[] | "accepted"]>([
    ["a client's own token", { sub: "notes-app", jti: newJti(randomBytes) }, USERINFO, {}, ["invalid_token", "no_user_behind_token"]],
    ["a token bound to a key", { cnf: { jkt: "thumb" } }, USERINFO, {}, ["invalid_token", "token_bound"]],
    ["an expired token", {}, USERINFO, { now: NOW + 900 }, ["invalid_token", "token_expired"]],
    ["a token in its last second", {}, USERINFO, { now: NOW + 899 }, "accepted"],
    ["a revoked token", {}, USERINFO, { revoked: true }, ["invalid_token", "token_ended"]],
    ["a token without its user", {}, USERINFO, { subject: null }, ["invalid_token", "token_ended"]],
    ["a token without openid", { scope: "email" }, USERINFO, {}, ["insufficient_scope", "openid_missing"]],
    ["a token for another audience", {}, MANAGEMENT, {}, ["invalid_token", "audience_is_not_the_issuer"]],
    [
      "a token for this service and a resource",
      { aud: [ISSUER, "https://a.example.test"], scope: "clients:manage" },
      MANAGEMENT,
      {},
      ["invalid_token", "bound_to_a_resource"],
    ],
    ["a token without clients:manage", { aud: ISSUER }, MANAGEMENT, {}, ["insufficient_scope", "clients_manage_missing"]],
    ["a first-party token", { aud: ISSUER, client_id: FIRST_PARTY }, MANAGEMENT, {}, "accepted"],
    ["sign-out soon after the token expired", {}, LOGOUT, { now: NOW + 900 + 86_399 }, "accepted"],
    ["sign-out long after the token expired", {}, LOGOUT, { now: NOW + 900 + 86_400 }, ["invalid_token", "token_expired"]],
    ["sign-out by a delegated token", { act: { sub: "agent" } }, LOGOUT, {}, ["invalid_token", "delegated_token"]],
    ["sign-out by a token for a resource", { aud: "https://a.example.test" }, LOGOUT, {}, ["invalid_token", "bound_to_a_resource"]],
    ["sign-out by an application whose grant ended", {}, LOGOUT, { grantLives: false }, ["invalid_token", "token_ended"]],
    [
      "sign-out by a first-party token whose grant ended",
      { aud: ISSUER, client_id: FIRST_PARTY },
      LOGOUT,
      { grantLives: false },
      "accepted",
    ],
    [
      "a first-party token whose grant ended elsewhere",
      { aud: ISSUER, client_id: FIRST_PARTY },
      MANAGEMENT,
      { grantLives: false },
      ["invalid_token", "token_ended"],
    ],
    [
      "sign-out of a disabled user",
      { aud: ISSUER, client_id: FIRST_PARTY },
      LOGOUT,
      { subject: { ...aSubject({ enabled: false }), role: "user" } },
      ["invalid_token", "token_ended"],
    ],
  ])("accepts or refuses %s", async ([, members, use, state, expected]) => {
    const answer = await verify(await tokenOf(claims(members)), use, state);
    if (expected === "accepted") expect(answer).toMatchObject({ sub: USER });
    else expect(answer).toEqual(expected);
  });

  test("returns how the user authenticated and how long ago, in whole seconds that are not negative", async () => {
    const token = await tokenOf(claims({ acr: "phr", auth_time: 900 }));
    expect(await verify(token, USERINFO, { now: NOW + 0.2 })).toMatchObject({ acr: "phr", proofAge: 101 });
    expect(await verify(token, USERINFO, { now: 899 })).toMatchObject({ proofAge: 0 });
    expect(await verify(await tokenOf(claims()), USERINFO)).not.toHaveProperty("proofAge");
    expect(await verify(await tokenOf(claims()), USERINFO)).not.toHaveProperty("acr");
    expect(await verify(await tokenOf(claims({ jti: delegationJti(GRANT_ID) })), USERINFO)).not.toHaveProperty("grantId");
  });

  test("names the scope that is missing, and refuses a use that is not named", async () => {
    const missing = async (members: object, use: AccessTokenUse) => {
      const { core } = await memoryCore();
      const request = create(VerifyAccessTokenRequestSchema, { accessToken: await tokenOf(claims(members)), use });
      return core.verifyAccessToken(request, {}).catch((refusal: Refusal) => refusal.detail.scope ?? refusal.reason);
    };
    expect(await missing({ scope: "email" }, USERINFO)).toBe("openid");
    expect(await missing({ aud: ISSUER }, MANAGEMENT)).toBe("clients:manage");
    expect(await missing({}, AccessTokenUse.UNSPECIFIED)).toBe("use_not_named");
  });

  test("refuses other text and other kinds of token", async () => {
    expect(await verify("text", USERINFO)).toEqual(["invalid_token", "not_an_access_token"]);
    expect(await verify(await tokenOf({ iss: ISSUER, sub: USER, aud: "notes-app" }, "JWT"), USERINFO)).toEqual([
      "invalid_token",
      "not_an_access_token",
    ]);
  });
});

describe("RP-initiated logout", () => {
  const client = aClient({ postLogoutRedirectUris: ["https://notes.example.test/bye"] });
  async function validate(members: object, clients = [client], claims: object = {}) {
    const { core } = await memoryCore({ clients });
    const idTokenHint = await tokenOf({ iss: ISSUER, sub: USER, aud: "notes-app", ...claims }, "JWT");
    return ask(core, "validateLogout", create(ValidateLogoutRequestSchema, { idTokenHint, ...members }));
  }
  const postLogoutRedirectUri = "https://notes.example.test/bye";

  test("returns the user, and the registered redirect URI", async () => {
    expect(await validate({})).toEqual({ hintedSub: USER });
    expect(await validate({ clientId: "notes-app" })).toEqual({ hintedSub: USER });
    expect(await validate({ postLogoutRedirectUri })).toEqual({ hintedSub: USER, postLogoutRedirectUri });
    expect(await validate({}, [client], { sid: "s" })).toEqual({ hintedSub: USER, hintedSession: "s" });
  });

  test.for<readonly [string, object, readonly (typeof client)[], string]>([
    ["a hint that is not an ID token", { idTokenHint: "text" }, [client], "id_token_hint_invalid"],
    ["an ID token of another client", { clientId: "other" }, [client], "id_token_hint_of_another_client"],
    [
      "an unregistered redirect URI",
      { postLogoutRedirectUri: "https://notes.example.test/" },
      [client],
      "post_logout_redirect_uri_not_registered",
    ],
    ["a disabled client", { postLogoutRedirectUri }, [{ ...client, enabled: false }], "post_logout_redirect_uri_not_registered"],
    ["a deleted client", { postLogoutRedirectUri }, [], "post_logout_redirect_uri_not_registered"],
  ])("is refused for %s", async ([, members, clients, reason]) =>
    expect(await validate(members, [...clients])).toEqual(["invalid_request", reason]),
  );

  test.for<readonly [object, string]>([
    [{ idTokenHint: "text" }, "id_token_hint is not an ID token of this issuer."],
    [{ clientId: "other" }, "id_token_hint was issued to another client."],
    [{ postLogoutRedirectUri: "https://x.example.test" }, "post_logout_redirect_uri is not registered for this client."],
  ])("says what is wrong with %j", async ([members, description]) => {
    const { core } = await memoryCore({ clients: [client] });
    const idTokenHint = await tokenOf({ iss: ISSUER, sub: USER, aud: "notes-app" }, "JWT");
    const call = core.validateLogout(create(ValidateLogoutRequestSchema, { idTokenHint, ...members }), {});
    await expect(call).rejects.toMatchObject({ detail: { description } });
  });
});

describe("tokens of a first-party sign-in", () => {
  const firstParty = aClient({ clientId: FIRST_PARTY, origin: "built_in" });
  async function login(world: MemoryWorld) {
    const { core, writes } = await memoryCore(world);
    const request = create(LoginTokensRequestSchema, { userId: USER, sessionId: "s1", authTime: 950, requestId: "r1" });
    return { answer: await ask(core, "loginTokens", request), writes };
  }

  test("open a grant with the issuer as audience", async () => {
    const { answer, writes } = await login({ clients: [firstParty] });
    const { accessToken = "", refreshToken = "", ...rest } = answer as { accessToken?: string; refreshToken?: string };
    expect(rest).toEqual({ expiresIn: 900, tokenType: "Bearer" });
    const token = claimsOf(accessToken);
    expect(token).toMatchObject({ sub: USER, aud: ISSUER, client_id: FIRST_PARTY, scope: "openid profile email", exp: NOW + 900 });
    const grantId = (writes[0]?.[1] as { id: string } | undefined)?.id;
    expect(writes).toEqual([
      [
        "grant.open",
        { id: grantId, clientId: FIRST_PARTY, userId: USER, scopes: ["openid", "profile", "email"], audience: [ISSUER], authTime: 950 },
        { id: expect.any(String), tokenHash: hashSecret(refreshToken), ttl: 86_400, maxAge: 864_000 },
        "s1",
        {
          event: "token.issued",
          outcome: "success",
          actor: { type: "user", id: USER },
          userId: USER,
          clientId: FIRST_PARTY,
          grantType: "login",
          scope: "openid profile email",
          resources: [ISSUER],
          jti: token.jti,
          grantId,
          requestId: "r1",
        },
      ],
    ]);
  });

  test("are refused when the session is not live or the first-party client is disabled", async () => {
    expect((await login({ clients: [firstParty], succeeds: false })).answer).toEqual(["unauthenticated", "session_not_live"]);
    expect((await login({ clients: [{ ...firstParty, enabled: false }] })).answer).toEqual([
      "access_denied",
      "first_party_client_disabled",
    ]);
    expect((await login({ clients: [] })).answer).toEqual(["access_denied", "first_party_client_disabled"]);
  });
});

test("the header of a token names its signing key", async () => {
  const { core, key } = await memoryCore();
  expect((await tokenOf(claims())).split(".")[0]).toBe(headerSegment(key, "at+jwt"));
  const { jwksJson } = await core.publicKeys({} as never, {});
  expect(JSON.parse(jwksJson ?? "")).toEqual({ keys: [key.jwk] });
});
