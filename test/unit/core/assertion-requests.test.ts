import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { FetchFailure, NO_PLACE } from "../../../src/clients/guarded-fetch.ts";
import type { AssertedIdentity, IdentityAssertionPorts, NewGrant } from "../../../src/core/stored-grants.ts";

import { Refusal } from "../../../src/errors.ts";
import { ExplainRequestSchema, TokenRequestSchema, Verdict } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { GRANTS } from "../../../src/protocol/grants.ts";
import { jws, keyFor } from "../../support/assertions.ts";
import { aClient, aSubject } from "../../support/builders.ts";
import { ask, claimsOf, ISSUER, memoryCore, NOW } from "../../support/memory-core.ts";

const { grantType } = GRANTS.jwtBearer;
const IDP = "https://idp.example.test";
const CRM = "https://crm.example.test/mcp";
const key = keyFor("EdDSA", "k1");
const client = aClient({ grantTypes: [grantType], scopes: ["crm:read", "crm:write"], audience: [CRM, "https://b.example.test"] });
const basic = { basic: { clientId: "notes-app", clientSecret: "the-secret" }, address: "192.0.2.1" };

const claims = {
  iss: IDP,
  sub: "employee-7",
  aud: ISSUER,
  client_id: "notes-app",
  jti: "j-1",
  iat: NOW - 10,
  exp: NOW + 100,
  scope: "crm:read",
  resource: CRM,
};
const assertionWith = (members: object = {}, header: object = {}, by = key) =>
  jws({ ...claims, ...members }, by, { typ: "oauth-id-jag+jwt", kid: by.jwk.kid, ...header });

interface Presented {
  readonly assertion?: string;
  readonly params?: object;
  readonly of?: typeof client;
  readonly served?: Partial<IdentityAssertionPorts> | undefined;
  readonly accept?: IdentityAssertionPorts["assertions"]["accept"];
  readonly outlook?: { readonly enabled: boolean; readonly agentPaused: boolean; readonly used: boolean };
}

async function coreFor({ of = client, served = {}, accept, outlook = { enabled: true, agentPaused: false, used: false } }: Presented) {
  const accepted: unknown[][] = [];
  const assertions = {
    accept:
      accept ??
      (async (...values: unknown[]) => {
        accepted.push(values);
        return aSubject().userId;
      }),
    outlook: async () => outlook,
  };
  const keys = { current: async () => [key.jwk], refreshed: async () => [key.jwk] };
  const identityAssertions = { trustedIssuers: [IDP], maxLifetime: 300, keys, assertions, ...served };
  return { ...(await memoryCore({ clients: [of], ports: () => ({ identityAssertions }) })), accepted };
}

const requestOf = ({ assertion = assertionWith(), params = {}, of = client }: Presented) =>
  create(TokenRequestSchema, {
    client: of.secretHash === null ? { clientId: of.clientId, address: "192.0.2.1" } : basic,
    requestId: "r1",
    grant: { case: "jwtBearer", value: { assertion, ...params } },
  });

/** Sends an assertion to the token endpoint. */
async function present(presented: Presented = {}) {
  const { core, writes, accepted } = await coreFor(presented);
  const answer = await ask(core, "token", requestOf(presented));
  return { answer, writes, accepted, token: claimsOf(String((answer as { accessToken?: string }).accessToken)) };
}

test("an assertion of a trusted issuer yields an access token of its user", async () => {
  const act = { sub: "b", act: { sub: "a" } };
  const { answer, accepted, token, writes } = await present({
    assertion: assertionWith({ act, auth_time: NOW - 50, email: "ada@example.test", email_verified: true }),
  });
  expect(answer).toEqual({ accessToken: expect.any(String), tokenType: "Bearer", expiresIn: 900, scope: "crm:read" });
  expect(token).toMatchObject({ sub: aSubject().userId, aud: CRM, client_id: "notes-app", scope: "crm:read", act, exp: NOW + 900 });
  const [identity, grant] = (accepted[0] ?? []) as [AssertedIdentity, NewGrant];
  expect(identity).toEqual({
    issuer: IDP,
    subject: "employee-7",
    verifiedEmail: "ada@example.test",
    realmId: client.realmId,
    newUserId: expect.any(String),
    jti: "j-1",
    remember: 160,
  });
  expect(grant).toEqual({ id: expect.any(String), clientId: "notes-app", scopes: ["crm:read"], audience: [CRM], authTime: NOW - 50 });
  expect(identity.newUserId).not.toBe(grant.id);
  expect(accepted[0]?.[2]).toEqual({
    event: "token.issued",
    outcome: "success",
    actor: { type: "client", id: "notes-app" },
    clientId: "notes-app",
    grantType,
    scope: "crm:read",
    resources: [CRM],
    jti: token.jti,
    grantId: grant.id,
    actChain: ["b", "a"],
    requestId: "r1",
  });
  expect(writes).toEqual([]);
});

test.for<readonly [string, object, Partial<AssertedIdentity & NewGrant>]>([
  ["an address that the issuer has not verified", { email: "ada@example.test" }, { verifiedEmail: undefined }],
  ["an address that is not a string", { email: 7, email_verified: true }, { verifiedEmail: undefined }],
  ["a time of authentication in the future", { auth_time: NOW + 1 }, { authTime: NOW - 10 }],
  ["a time of authentication right now", { auth_time: NOW }, { authTime: NOW }],
  ["a time of authentication before the epoch", { auth_time: -1 }, { authTime: NOW - 10 }],
  ["a time of authentication at the epoch", { auth_time: 0 }, { authTime: 0 }],
  ["a time of authentication with a fraction", { auth_time: NOW - 50.5 }, { authTime: NOW - 51 }],
  ["a time of authentication that is not a number", { auth_time: "1" }, { authTime: NOW - 10 }],
  ["an issue time within the permitted skew", { iat: NOW + 60, nbf: NOW + 60 }, { authTime: NOW }],
  ["times with fractions of seconds", { iat: NOW - 10.5, nbf: NOW - 10.5, exp: NOW + 99.5 }, { authTime: NOW - 11, remember: 159.5 }],
  ["the longest lifetime", { iat: NOW - 10, exp: NOW + 290 }, { remember: 350 }],
  ["its only audience in a list", { aud: [ISSUER] }, { subject: "employee-7" }],
  ["the longest subject", { sub: "x".repeat(255) }, { subject: "x".repeat(255) }],
  ["resources in a list, each once", { resource: [CRM, "https://b.example.test/", CRM] }, { audience: [CRM, "https://b.example.test/"] }],
  ["a scope that the client may have in part", { scope: "admin crm:write" }, { scopes: ["crm:write"] }],
])("an identity assertion is accepted with %s", async ([, members, expected]) => {
  const { accepted } = await present({ assertion: assertionWith(members) });
  expect({ ...(accepted[0]?.[1] as object), ...(accepted[0]?.[0] as object) }).toMatchObject(expected);
});

test("a request may narrow resource and scope of its assertion, but not widen them", async () => {
  const wide = assertionWith({ scope: "crm:read crm:write", resource: [CRM, "https://b.example.test"] });
  const { token } = await present({ assertion: wide, params: { scope: "crm:write", resource: ["https://b.example.test/"] } });
  expect([token.scope, token.aud]).toEqual(["crm:write", "https://b.example.test"]);
  expect((await present({ params: { scope: "crm:write" } })).answer).toEqual(["invalid_grant", "scope_wider_than_assertion"]);
  expect((await present({ params: { resource: ["https://b.example.test"] } })).answer).toEqual([
    "invalid_grant",
    "resource_outside_assertion",
  ]);
});

const chain = (length: number): object => (length === 1 ? { sub: "a1" } : { sub: `a${length}`, act: chain(length - 1) });

test.for<readonly [string, object, string]>([
  ["another audience", { aud: "https://other.example.test" }, "assertion_for_another_audience"],
  ["several audiences", { aud: [ISSUER, "https://other.example.test"] }, "assertion_for_another_audience"],
  ["no expiry", { exp: undefined }, "assertion_without_expiry"],
  ["an expiry that is now", { exp: NOW }, "assertion_expired"],
  ["no issue time", { iat: undefined }, "assertion_without_issue_time"],
  ["an issue time beyond the skew", { iat: NOW + 61 }, "assertion_not_yet_valid"],
  ["nbf beyond the skew", { nbf: NOW + 61 }, "assertion_not_yet_valid"],
  ["nbf that is not a number", { nbf: "now" }, "assertion_not_yet_valid"],
  ["a lifetime that is too long", { iat: NOW - 10, exp: NOW + 291 }, "assertion_lives_too_long"],
  ["no subject", { sub: undefined }, "assertion_without_subject"],
  ["an empty subject", { sub: "" }, "assertion_without_subject"],
  ["a subject that is too long", { sub: "x".repeat(256) }, "assertion_without_subject"],
  ["a control character in the subject", { sub: "a\nb" }, "assertion_without_subject"],
  ["a lone surrogate in the subject", { sub: "\ud800" }, "assertion_without_subject"],
  ["no jti", { jti: undefined }, "assertion_without_id"],
  ["another client", { client_id: "other" }, "assertion_for_another_client"],
  ["authorization_details", { authorization_details: [] }, "authorization_details_unsupported"],
  ["a confirmation", { cnf: {} }, "confirmation_unsupported"],
  ["five actors", { act: chain(5) }, "too_many_actors"],
  ["an actor without sub", { act: {} }, "actor_malformed"],
  ["an actor that is null", { act: null }, "actor_malformed"],
  ["an actor that is a text", { act: "a" }, "actor_malformed"],
  ["an inner actor that is malformed", { act: { sub: "a", act: { sub: "" } } }, "actor_malformed"],
  ["an actor with NUL, which no token can name", { act: { sub: "a\0" } }, "actor_malformed"],
  ["an actor with a lone surrogate", { act: { sub: "\ud800" } }, "actor_malformed"],
  ["no resource", { resource: undefined }, "assertion_without_resource"],
  ["an empty list of resources", { resource: [] }, "assertion_without_resource"],
  ["a resource that is not a string", { resource: [CRM, 7] }, "assertion_without_resource"],
  ["a resource outside of the client's audience", { resource: [CRM, "https://c.example.test"] }, "resource_not_of_client"],
  ["no scope", { scope: undefined }, "no_scope_left"],
  ["a scope that the client may not have", { scope: "admin" }, "no_scope_left"],
])("an identity assertion is refused and recorded for %s", async ([, members, reason]) => {
  const { answer, writes } = await present({ assertion: assertionWith(members) });
  expect([answer, writes[0]?.[1]]).toEqual([
    ["invalid_grant", reason],
    expect.objectContaining({ event: "identity_assertion.refused", error: "invalid_grant", reason, clientId: "notes-app", grantType }),
  ]);
});

test("an identity assertion may name four actors", async () => {
  expect((await present({ assertion: assertionWith({ act: chain(4) }) })).token.act).toEqual(chain(4));
});

const other = keyFor("EdDSA", "k1");
test.for<readonly [string, Presented, readonly string[]]>([
  ["no JWT", { assertion: "text" }, ["invalid_grant", "assertion_malformed"]],
  ["more than 16384 characters", { assertion: assertionWith({ pad: "x".repeat(16_384) }) }, ["invalid_grant", "assertion_malformed"]],
  ["a key in its header", { assertion: assertionWith({}, { jwk: key.jwk }) }, ["invalid_grant", "assertion_brings_its_key"]],
  ["another type", { assertion: assertionWith({}, { typ: "JWT" }) }, ["invalid_grant", "assertion_of_another_kind"]],
  [
    "a type after another word",
    { assertion: assertionWith({}, { typ: "x/oauth-id-jag+jwt" }) },
    ["invalid_grant", "assertion_of_another_kind"],
  ],
  [
    "a type before another word",
    { assertion: assertionWith({}, { typ: "oauth-id-jag+jwt2" }) },
    ["invalid_grant", "assertion_of_another_kind"],
  ],
  ["no type", { assertion: assertionWith({}, { typ: undefined }) }, ["invalid_grant", "assertion_of_another_kind"]],
  [
    "an algorithm that is not accepted",
    { assertion: assertionWith({}, { alg: "HS256" }) },
    ["invalid_grant", "assertion_algorithm_not_accepted"],
  ],
  [
    "claims that are not an object",
    { assertion: jws([], key, { typ: "oauth-id-jag+jwt", kid: "k1" }) },
    ["invalid_grant", "assertion_malformed"],
  ],
  ["an issuer that is not a string", { assertion: assertionWith({ iss: [IDP] }) }, ["invalid_grant", "issuer_not_trusted"]],
  ["a scope that is not a string", { assertion: assertionWith({ scope: ["crm:read"] }) }, ["invalid_grant", "no_scope_left"]],
  ["a kid that is not a string", { assertion: assertionWith({}, { kid: 1 }) }, ["invalid_grant", "assertion_malformed"]],
  [
    "an issuer that is not trusted",
    { assertion: assertionWith({ iss: "https://evil.example.test" }) },
    ["invalid_grant", "issuer_not_trusted"],
  ],
  ["no issuer", { assertion: assertionWith({ iss: undefined }) }, ["invalid_grant", "issuer_not_trusted"]],
  [
    "this issuer, even if it were trusted",
    { assertion: assertionWith({ iss: ISSUER }), served: { trustedIssuers: [ISSUER] } },
    ["invalid_grant", "issuer_not_trusted"],
  ],
  ["a signature by another key", { assertion: assertionWith({}, {}, other) }, ["invalid_grant", "signature_wrong"]],
  ["an unknown key", { assertion: assertionWith({}, { kid: "k2" }) }, ["invalid_grant", "key_unknown"]],
  ["a public client", { of: { ...client, tokenEndpointAuthMethod: "none", secretHash: null } }, ["invalid_client", "public_client"]],
  ["a client without the grant", { of: { ...client, grantTypes: [] } }, ["unauthorized_client", "grant_not_held"]],
  ["no assertion at all", { assertion: "" }, ["invalid_request", "assertion_missing"]],
  [
    "authorization_details in the request",
    { params: { authorizationDetailsPresent: true } },
    ["invalid_grant", "authorization_details_unsupported"],
  ],
])("an identity assertion is refused for %s", async ([, presented, refusal]) => expect((await present(presented)).answer).toEqual(refusal));

test("a client without the grant learns only the code", async () => {
  const { core } = await coreFor({ of: { ...client, grantTypes: [] } });
  const refused = await core.token(requestOf({}), {}).catch((error) => error);
  expect([refused.code, refused.detail.description]).toEqual(["unauthorized_client", undefined]);
});

test("an identity assertion may spell its type as a media type, in any case, and leave out kid", async () => {
  const assertion = assertionWith({}, { typ: "application/OAuth-ID-JAG+jwt", kid: undefined });
  expect((await present({ assertion })).answer).toMatchObject({ scope: "crm:read" });
});

test("unavailable keys are reported as the issuer's fault, and an outage as this server's", async () => {
  const failing = (error: Error) => ({ keys: { current: () => Promise.reject(error), refreshed: async () => [] } });
  expect((await present({ served: failing(new FetchFailure("no_public_key_set")) })).answer).toEqual([
    "invalid_grant",
    "issuer_no_public_key_set",
  ]);
  expect((await present({ served: failing(new FetchFailure(NO_PLACE)) })).answer).toEqual([
    "temporarily_unavailable",
    `issuer_${NO_PLACE}`,
  ]);
  const outage = new Refusal("temporarily_unavailable", "database_gone");
  const { answer, writes } = await present({ served: failing(outage) });
  expect([answer, writes]).toEqual([["temporarily_unavailable", "database_gone"], []]);
});

test("the client gets one code for all faults of an assertion, and the audit record has the signed jti", async () => {
  const { core, writes } = await coreFor({});
  const assertion = assertionWith({ jti: "j".repeat(300), scope: "a\u0001b" });
  const refusal = await core.token(requestOf({ assertion }), {}).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "invalid_grant", detail: { rule: "scope", cause: expect.any(Refusal) } });
  expect(refusal).not.toHaveProperty("detail.description");
  expect(writes[0]?.[1]).toMatchObject({ jti: "j".repeat(255) });
  const unsigned = await present({ assertion: assertionWith({}, {}, other) });
  expect(unsigned.writes[0]?.[1]).not.toHaveProperty("jti");
});

test("a refusal of the store is reported without its description, and an outage as temporarily_unavailable", async () => {
  const used = () => Promise.reject(new Refusal("invalid_grant", "assertion_replayed", { description: "Used." }));
  const { core } = await coreFor({ accept: used });
  const refusal = await core.token(requestOf({}), {}).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "invalid_grant", reason: "assertion_replayed" });
  expect(refusal).not.toHaveProperty("detail.description");
  expect(refusal).not.toHaveProperty("detail.rule");
  const gone = () => Promise.reject(new Refusal("temporarily_unavailable", "database_gone"));
  expect((await present({ accept: gone })).answer).toEqual(["temporarily_unavailable", "database_gone"]);
});

test("without identity assertions, the grant is unsupported", async () => {
  const { core } = await memoryCore({ clients: [client], ports: () => ({ identityAssertions: undefined }) });
  expect(await ask(core, "token", requestOf({}))).toEqual(["unsupported_grant_type", "grant_not_served"]);
});

test("explain reports whether an assertion would be accepted, and accepts nothing", async () => {
  async function explain(presented: Presented) {
    const { core, writes, accepted } = await coreFor(presented);
    const answer = await ask(
      core,
      "explain",
      create(ExplainRequestSchema, { subject: { case: "tokenRequest", value: requestOf(presented) } }),
    );
    expect([writes, accepted]).toEqual([[], []]);
    const { rules = [], granted } = answer as { rules?: { rule: string; verdict: Verdict; reason?: string }[]; granted?: object };
    return { granted, refused: rules.filter(({ verdict }) => verdict === Verdict.REFUSED).map(({ rule, reason }) => [rule, reason]) };
  }
  expect(await explain({ assertion: assertionWith({ act: { sub: "a" } }) })).toEqual({
    granted: {
      scope: "crm:read",
      aud: [CRM],
      expiresIn: 900,
      issuedTokenType: "urn:ietf:params:oauth:token-type:access_token",
      actors: ["a"],
    },
    refused: [],
  });
  expect((await explain({ outlook: { enabled: false, agentPaused: true, used: true } })).refused).toEqual([
    ["user_enabled", "user_disabled"],
  ]);
  expect((await explain({ outlook: { enabled: true, agentPaused: true, used: true } })).refused).toEqual([
    ["agent_not_paused", "agent_paused"],
  ]);
  expect((await explain({ outlook: { enabled: true, agentPaused: false, used: true } })).refused).toEqual([
    ["assertion_unused", "assertion_replayed"],
  ]);
  expect((await explain({ assertion: "text" })).refused).toEqual([["assertion_form", "assertion_malformed"]]);
  expect((await explain({ assertion: assertionWith({}, {}, other) })).refused).toEqual([["assertion_signed", "signature_wrong"]]);
});
