import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { statement } from "../../src/store/sql.ts";
import { keyFor } from "../support/assertions.ts";
import { delegating, madePublic } from "../support/delegation.ts";
import { type Answer, claimsOf, type TestClient } from "../support/flow.ts";
import { type IdentityIssuer, identityIssuer } from "../support/identity-issuer.ts";
import { startServer, type TestServer } from "../support/server.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const CRM = "https://crm.example.test/mcp";
const FILES = "https://files.example.test/mcp";
const client = {
  clientId: "desk",
  clientSecret: "desk-secret",
  name: "Desk",
  tokenEndpointAuthMethod: "client_secret_basic",
  grantTypes: [JWT_BEARER],
  scopes: ["openid", "email", "crm:read", "crm:write", "files:read", "files:delete"],
  audience: [CRM, "https://mail.example.test/mcp", FILES],
};
const CLIENTS = [
  client,
  { ...client, clientId: "plain", grantTypes: ["client_credentials"] },
  { ...client, clientId: "open" },
  { ...client, clientId: "gone", enabled: false },
  { ...client, clientId: "paused", isAgent: true },
];
const as = (clientId: string): TestClient => ({ clientId, redirectUri: "", ...(clientId !== "open" && { secret: "desk-secret" }) });
const seconds = () => Math.floor(Date.now() / 1000);

let issuer: IdentityIssuer;
let stranger: IdentityIssuer;
/** A trusted issuer whose metadata names another issuer. */
let liar: IdentityIssuer;
/** A trusted issuer whose identifier ends in a slash. */
let slashed: IdentityIssuer;
let server: TestServer;
beforeAll(async () => {
  [issuer, stranger, liar, slashed] = await Promise.all([identityIssuer(), identityIssuer(), identityIssuer(), identityIssuer()]);
  liar.discovery = { issuer: issuer.url };
  slashed.discovery = { issuer: `${slashed.url}/` };
  server = await startServer({
    env: {
      ID_JAG_ENABLED: "true",
      ID_JAG_TRUSTED_ISSUERS: `http://localhost:1, ${issuer.url} ${liar.url} ${slashed.url}/`,
      ID_JAG_MAX_ASSERTION_LIFETIME: "200",
    },
    provision: {
      clients: CLIENTS,
      resources: [{ resource: FILES, scopes: [{ name: "files:read" }, { name: "files:delete", stepUp: { acr: "urn:countersign:mfa" } }] }],
      users: [{ email: "taken@example.test", password: "a password 7!", emailVerified: true }],
    },
  });
  await madePublic(server, "open");
});
afterAll(async () => {
  await server.close();
  await issuer.close();
  await stranger.close();
  await liar.close();
  await slashed.close();
});

const bring = (assertion: string, fields: object = {}, clientId = "desk"): Promise<Answer> =>
  server.token(as(clientId), { grant_type: JWT_BEARER, assertion, ...fields });
const made = (claims: object = {}, header: object = {}) => issuer.assertion(server.url, "desk", claims, header);
const reasonOf = async (answer: Answer) => (await delegating(server).auditOf(answer)).map(({ event, reason }) => [event, reason]);
const users = async () =>
  (await server.database.sql.query<{ n: number }>(statement("test_users", "select count(*)::int as n from users"), []))[0]?.n;

describe("docs/protocol.md#identity-assertion", () => {
  test("returns an access token for the assertion's resource and a local user, without a refresh token", async () => {
    const { status, body } = await bring(made({ sub: "someone-new" }));
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "scope", "token_type"]);
    const claims = claimsOf(body.access_token);
    expect(claims).toMatchObject({ aud: CRM, client_id: "desk", scope: "crm:read", token_use: "access" });
    expect(claims.sub).toMatch(/^[0-9a-f-]{36}$/);
    expect((await server.introspect(as("desk"), body.access_token)).body).toMatchObject({ active: true, sub: claims.sub });
    await server.revoke(as("desk"), body.access_token);
    expect((await server.introspect(as("desk"), body.access_token)).body).toEqual({ active: false });
  });

  test("accepts an issuer whose identifier ends in a slash, exactly as it is spelled", async () => {
    const by = (iss: string) => slashed.assertion(server.url, "desk", { iss });
    expect((await bring(by(`${slashed.url}/`))).status).toBe(200);
    const misspelled = await bring(by(slashed.url));
    expect(misspelled.body).toEqual({ error: "invalid_grant" });
    expect(await reasonOf(misspelled)).toEqual([["identity_assertion.refused", "issuer_not_trusted"]]);
  });

  test("one identity is one user; a verified email claim links an existing account, an unverified one does not", async () => {
    const subOf = async (claims: object) => claimsOf((await bring(made(claims))).body.access_token).sub;
    const [first, again] = [await subOf({ sub: "e-1" }), await subOf({ sub: "e-1" })];
    expect(again).toBe(first);
    expect(await subOf({ sub: first })).not.toBe(first);
    const email = "Taken@example.test";
    const [claimed, proven] = [await subOf({ sub: "e-2", email }), await subOf({ sub: "e-3", email, email_verified: true })];
    expect(claimed).not.toBe(proven);
    expect(await subOf({ sub: "e-3" })).toBe(proven);
    const before = await users();
    await subOf({ sub: "e-3" });
    expect(await users()).toBe(before);
  });

  test("scope is the intersection of assertion, client and request; resource may be narrowed", async () => {
    const wide = { scope: "crm:read crm:write hr:read", resource: [CRM, "https://mail.example.test/mcp"] };
    expect((await bring(made(wide))).body.scope).toBe("crm:read crm:write");
    const narrow = await bring(made(wide), { scope: "crm:write", resource: CRM });
    expect([narrow.body.scope, claimsOf(narrow.body.access_token).aud]).toEqual(["crm:write", CRM]);
  });

  test("of a resource with a record, only the scopes that it offers are granted", async () => {
    const files = (scope: string) => bring(made({ resource: FILES, scope }));
    expect((await files("crm:read files:read")).body.scope).toBe("files:read");
    expect((await files("crm:read")).body).toEqual({ error: "invalid_grant" });
  });

  test("a scope that demands a stronger sign-in is not granted, for an assertion shows none", async () => {
    const { body } = await bring(made({ resource: [FILES, CRM], scope: "files:read files:delete" }));
    expect(body.scope).toBe("files:read");
    expect((await bring(made({ resource: FILES, scope: "files:delete" }))).body).toEqual({ error: "invalid_grant" });
  });

  test("a paused agent gets no token, and what it has is inactive until it is resumed", async () => {
    const [{ assertion, later }, sql] = [
      { assertion: issuer.assertion(server.url, "paused"), later: issuer.assertion(server.url, "paused") },
      (text: string) => server.database.sql.query(statement(`test_${text.slice(0, 6)}`, text), []),
    ];
    const { access_token: held } = (await bring(assertion, {}, "paused")).body;
    const isActive = async () => (await server.introspect(as("paused"), held)).body.active;
    await sql("insert into agent_pauses (agent, paused_by_type, paused_by) values ('paused', 'user', 'x')");
    const refused = await bring(later, {}, "paused");
    expect([refused.body, await reasonOf(refused)]).toEqual([{ error: "invalid_grant" }, [["identity_assertion.refused", "agent_paused"]]]);
    expect(await isActive()).toBe(false);
    await sql("delete from agent_pauses where agent = 'paused'");
    expect([await isActive(), (await bring(later, {}, "paused")).status]).toEqual([true, 200]);
  });

  test("actors are carried over with only their sub", async () => {
    const { body } = await bring(made({ act: { sub: "b", extra: 1, act: { sub: "a" } } }));
    expect(claimsOf(body.access_token).act).toEqual({ sub: "b", act: { sub: "a" } });
  });

  test("a list of one audience, an application/ type and unknown members are accepted", async () => {
    expect((await bring(made({ aud: [server.url], tenant: "t", x: { y: 1 } }, { typ: "application/oauth-id-jag+jwt" }))).status).toBe(200);
  });

  test.for([
    ["a public client", "open", 401, "invalid_client"],
    ["a disabled client", "gone", 401, "invalid_client"],
    ["a client without the grant", "plain", 400, "unauthorized_client"],
  ] as const)("refuses %s", async ([, clientId, status, error]) => {
    const answer = await bring(issuer.assertion(server.url, clientId), {}, clientId);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });

  test("a missing assertion returns invalid_request", async () => {
    expect((await bring("")).body.error).toBe("invalid_request");
  });
});

describe("abuse 41: every rejection returns invalid_grant without a description, and its reason is audited", () => {
  const rejections: readonly (readonly [reason: string, assertion: () => string, fields?: object])[] = [
    ["assertion_malformed", () => "a.b.c"],
    ["assertion_malformed", () => "x".repeat(20_000)],
    ["assertion_of_another_kind", () => made({}, { typ: "JWT" })],
    ["assertion_of_another_kind", () => made({}, { typ: undefined })],
    ["assertion_algorithm_not_accepted", () => made({}, { alg: "none" })],
    ["assertion_algorithm_not_accepted", () => made({}, { alg: "HS256" })],
    ["assertion_brings_its_key", () => made({}, { jwk: issuer.key.jwk })],
    ["assertion_brings_its_key", () => made({}, { x5c: [] })],
    ["assertion_brings_its_key", () => made({}, { crit: ["x"] })],
    ["issuer_not_trusted", () => stranger.assertion(server.url, "desk")],
    ["issuer_not_trusted", () => made({ iss: server.url })],
    ["issuer_not_trusted", () => made({ iss: `${issuer.url}/` })],
    ["issuer_unreachable", () => made({ iss: "http://localhost:1" })],
    ["issuer_document_of_another_issuer", () => liar.assertion(server.url, "desk")],
    ["signature_wrong", () => issuer.assertion(server.url, "desk", {}, {}, keyFor("EdDSA", "issuer-key"))],
    ["key_unknown", () => made({}, { kid: "other" })],
    ["assertion_for_another_audience", () => made({ aud: [server.url, "https://x.example.test"] })],
    ["assertion_for_another_audience", () => made({ aud: `${server.url}/oauth/token` })],
    ["assertion_for_another_audience", () => made({ aud: undefined })],
    ["assertion_without_expiry", () => made({ exp: undefined })],
    ["assertion_expired", () => made({ exp: seconds() - 1 })],
    ["assertion_without_issue_time", () => made({ iat: undefined })],
    ["assertion_not_yet_valid", () => made({ iat: seconds() + 90 })],
    ["assertion_lives_too_long", () => made({ exp: seconds() + 230 })],
    ["assertion_without_subject", () => made({ sub: undefined })],
    ["assertion_without_subject", () => made({ sub: "a\u0000b" })],
    ["assertion_without_id", () => made({ jti: "" })],
    ["assertion_for_another_client", () => made({ client_id: "plain" })],
    ["authorization_details_unsupported", () => made({ authorization_details: [] })],
    ["authorization_details_unsupported", () => made(), { authorization_details: '[{"type":"crm"}]' }],
    ["confirmation_unsupported", () => made({ cnf: { jkt: "x" } })],
    ["actor_malformed", () => made({ act: { sub: 1 } })],
    ["too_many_actors", () => made({ act: { sub: "e", act: { sub: "d", act: { sub: "c", act: { sub: "b", act: { sub: "a" } } } } } })],
    ["assertion_without_resource", () => made({ resource: undefined })],
    ["resource_not_of_client", () => made({ resource: [CRM, "https://hr.example.test/mcp"] })],
    ["resource_outside_assertion", () => made(), { resource: "https://mail.example.test/mcp" }],
    ["scope_wider_than_assertion", () => made(), { scope: "crm:write" }],
    ["scope_malformed", () => made(), { scope: 'crm"read' }],
    ["no_scope_left", () => made({ scope: "hr:read" })],
    ["no_scope_left", () => made({ scope: undefined })],
  ];
  test.for(rejections)("rejects an assertion with the reason %s", async ([reason, assertion, fields]) => {
    const answer = await bring(assertion(), fields);
    expect([answer.status, answer.body]).toEqual([400, { error: "invalid_grant" }]);
    expect(await reasonOf(answer)).toEqual([["identity_assertion.refused", reason]]);
  });

  test("an untrusted issuer receives no request", () => {
    expect(stranger.asked).toEqual([]);
  });
});

describe("docs/protocol.md#identity-assertion-rules: an assertion is used once", () => {
  test("a repeated assertion is refused, one with another jti is not", async () => {
    const jti = randomUUID();
    expect((await bring(made({ jti }))).status).toBe(200);
    const again = await bring(made({ jti }));
    expect(again.body).toEqual({ error: "invalid_grant" });
    expect(await reasonOf(again)).toEqual([["identity_assertion.refused", "assertion_replayed"]]);
    expect((await bring(made())).status).toBe(200);
  });

  test("a refused assertion does not consume its jti", async () => {
    const jti = randomUUID();
    expect((await bring(made({ jti, scope: "hr:read" }))).status).toBe(400);
    expect((await bring(made({ jti }))).status).toBe(200);
  });

  test("abuse 42: 64 concurrent uses of one assertion: exactly one is accepted, and one user is created", async () => {
    const assertion = made({ sub: `race-${randomUUID()}` });
    const before = (await users()) ?? 0;
    const answers = await Promise.all(Array.from({ length: 64 }, () => bring(assertion)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of answers) if (status !== 200) expect([status, body]).toEqual([400, { error: "invalid_grant" }]);
    expect(await users()).toBe(before + 1);
  });

  test("concurrent assertions of a new identity create one user", async () => {
    const sub = `race-${randomUUID()}`;
    const answers = await Promise.all(Array.from({ length: 8 }, () => bring(made({ sub }))));
    expect(new Set(answers.map(({ body }) => claimsOf(body.access_token).sub)).size).toBe(1);
  });
});

test("docs/protocol.md#discovery: the grant and its profile are advertised only while they are enabled", async () => {
  const { body } = await server.get("/.well-known/oauth-authorization-server");
  expect(body.grant_types_supported).toContain(JWT_BEARER);
  expect(body.authorization_grant_profiles_supported).toEqual(["urn:ietf:params:oauth:grant-profile:id-jag"]);
  expect(JSON.stringify(body)).not.toContain(issuer.url);
  const off = await startServer();
  try {
    const { body: without } = await off.get("/.well-known/oauth-authorization-server");
    expect(without.grant_types_supported).toEqual([
      "authorization_code",
      "refresh_token",
      "client_credentials",
      "urn:ietf:params:oauth:grant-type:token-exchange",
      "urn:ietf:params:oauth:grant-type:device_code",
    ]);
    expect("authorization_grant_profiles_supported" in without).toBe(false);
    const answer = await off.token(off.clients.worker, { grant_type: JWT_BEARER, assertion: made() });
    expect([answer.status, answer.body.error]).toEqual([400, "unsupported_grant_type"]);
  } finally {
    await off.close();
  }
});
