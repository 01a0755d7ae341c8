import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { CorePorts, NewDelegation } from "../../../src/core/ports.ts";
import type { TokenState } from "../../../src/core/stored-grants.ts";
import { accessTokenClaims, delegationJti, newJti } from "../../../src/core/tokens/access-token.ts";
import { Refusal } from "../../../src/errors.ts";
import { type TokenExchangeGrantSchema, TokenRequestSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { GRANTS, TOKEN_EXCHANGE } from "../../../src/protocol/grants.ts";
import { aClient, aSubject, aTokenState } from "../../support/builders.ts";
import { ask, claimsOf, ISSUER, type MemoryWorld, memoryCore, NOW, tokenOf } from "../../support/memory-core.ts";

const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const CRM = "https://crm.example.test/mcp";
const GRANT_ID = "01900000-0000-7000-8000-00000000000d";
const randomBytes = (size: number) => new Uint8Array(size);

const agent = aClient({ clientId: "agent", isAgent: true, scopes: ["crm:read", "email"], grantTypes: [TOKEN_EXCHANGE] });
const publicAgent = { ...agent, tokenEndpointAuthMethod: "none", secretHash: null } as const;
const basic = { basic: { clientId: "agent", clientSecret: "the-secret" }, address: "192.0.2.1" };

const subjectClaims = (members: object = {}) => ({
  ...accessTokenClaims({
    issuer: ISSUER,
    subject: aSubject().userId,
    audience: ["agent", CRM],
    clientId: "web",
    scopes: ["crm:read", "crm:write", "email"],
    jti: newJti(randomBytes, GRANT_ID),
    now: NOW,
    lifetime: 600,
  }),
  ...members,
});

interface Exchange {
  readonly params?: MessageInitShape<typeof TokenExchangeGrantSchema>;
  readonly client?: object;
  readonly claims?: object;
  readonly state?: Partial<TokenState>;
  readonly world?: MemoryWorld;
}

/** Exchanges a user's token as the agent. */
async function exchange({ params = {}, client = basic, claims = {}, state = {}, world = {} }: Exchange = {}) {
  const asked: unknown[] = [];
  const ports = (simple: CorePorts) => ({
    tokens: {
      ...simple.tokens,
      of: async (reference: object) => {
        asked.push(reference);
        return aTokenState(state);
      },
    },
    ...world.ports?.(simple),
  });
  const { core, writes } = await memoryCore({ clients: [agent], ...world, ports });
  const subjectToken = await tokenOf(subjectClaims(claims));
  const value = { subjectToken, subjectTokenType: ACCESS_TOKEN, ...params };
  const answer = await ask(
    core,
    "token",
    create(TokenRequestSchema, { client, requestId: "r1", grant: { case: "tokenExchange", value } } as MessageInitShape<
      typeof TokenRequestSchema
    >),
  );
  const delegation = writes[0]?.[1] as NewDelegation | undefined;
  return { answer, writes, asked, delegation, token: claimsOf(String((answer as { accessToken?: string }).accessToken)) };
}

/** The audit record of a refusal. */
const recordOf = ({ writes }: { writes: readonly (readonly unknown[])[] }) => writes.find(([method]) => method === "audit.record")?.[1];

describe("a token exchange", () => {
  test("issues a token with the agent as actor, and stores the delegation with its audit record", async () => {
    const { answer, writes, token, asked, delegation } = await exchange();
    expect(answer).toEqual({
      accessToken: expect.any(String),
      tokenType: "Bearer",
      expiresIn: 600,
      scope: "crm:read email",
      issuedTokenType: ACCESS_TOKEN,
    });
    const { jti } = subjectClaims();
    expect(asked).toEqual([{ jti, clientId: "web", userId: aSubject().userId, grantId: GRANT_ID, agent: "agent" }]);
    expect(delegation).toEqual({
      id: expect.any(String),
      kind: "access_token",
      jti: delegationJti(delegation?.id ?? ""),
      parent: { jti, clientId: "web", userId: aSubject().userId, grantId: GRANT_ID },
      grantId: GRANT_ID,
      userId: aSubject().userId,
      actor: "agent",
      scopes: ["crm:read", "email"],
      audience: ["agent", CRM],
      expiresAt: NOW + 600,
    });
    expect(token).toEqual({
      typ: "at+jwt",
      iss: ISSUER,
      sub: aSubject().userId,
      aud: ["agent", CRM],
      client_id: "agent",
      scope: "crm:read email",
      iat: NOW,
      exp: NOW + 600,
      jti: delegation?.jti,
      token_use: "access",
      act: { sub: "agent" },
      exchanged_from: [{ jti, client_id: "web" }],
    });
    expect(writes).toEqual([
      [
        "delegation.record",
        delegation,
        {
          event: "token.issued",
          outcome: "success",
          actor: { type: "client", id: "agent" },
          userId: aSubject().userId,
          clientId: "agent",
          grantType: TOKEN_EXCHANGE,
          scope: "crm:read email",
          resources: ["agent", CRM],
          jti: delegation?.jti,
          grantId: GRANT_ID,
          actChain: ["agent"],
          requestId: "r1",
        },
      ],
    ]);
  });

  test("limits the lifetime to the configured one, by the clock of the subject token's state", async () => {
    const { answer, token, delegation } = await exchange({ claims: { exp: NOW + 5000 }, state: { now: NOW + 10 } });
    expect([answer, token.iat, token.exp, delegation?.expiresAt]).toEqual([
      expect.objectContaining({ expiresIn: 900 }),
      NOW + 10,
      NOW + 910,
      NOW + 910,
    ]);
  });

  test("records the whole chain of actors", async () => {
    const { token, writes } = await exchange({ claims: { act: { sub: "first" }, jti: delegationJti(GRANT_ID) } });
    expect([token.act, (writes[0]?.[2] as { actChain: unknown } | undefined)?.actChain]).toEqual([
      { sub: "agent", act: { sub: "first" } },
      ["agent", "first"],
    ]);
  });

  test("narrows scope and target to those requested", async () => {
    const { answer, token } = await exchange({ params: { scope: "crm:read", resource: [CRM] } });
    expect([answer, token.aud]).toEqual([expect.objectContaining({ scope: "crm:read" }), CRM]);
  });

  test("omits disabled and unknown clients from the audience, with one look-up each", async () => {
    const off = aClient({ clientId: "off", enabled: false });
    const on = aClient({ clientId: "on" });
    const asked: string[] = [];
    const ports = ({ clients }: CorePorts) => ({
      clients: {
        byClientId(clientId: string) {
          asked.push(clientId);
          return clients.byClientId(clientId);
        },
      },
    });
    const claims = { aud: ["agent", "off", "on", "gone", CRM] };
    const { token } = await exchange({ claims, params: { resource: [] }, world: { clients: [agent, off, on], ports } });
    expect(token.aud).toEqual(["agent", "on", CRM]);
    expect(asked.sort()).toEqual(["agent", "gone", "off", "on"]);
  });

  test("looks up clients that only the request names, and limits the look-ups", async () => {
    const asked: string[] = [];
    const ports = ({ clients }: CorePorts) => ({
      clients: {
        byClientId(clientId: string) {
          asked.push(clientId);
          return clients.byClientId(clientId);
        },
      },
    });
    const on = aClient({ clientId: "on" });
    const outside = await exchange({ params: { audience: ["on"], resource: ["on"] }, world: { clients: [agent, on], ports } });
    expect([outside.answer, asked]).toEqual([
      ["invalid_target", "resource_outside_subject"],
      ["agent", "on"],
    ]);
    const many = Array.from({ length: 50 }, (_, index) => `client-${index}`);
    expect((await exchange({ params: { audience: many }, world: { ports } })).answer).toEqual(["invalid_target", "too_many_resources"]);
    expect(asked.length).toBeLessThan(20);
  });

  test("accepts the agent's own token as actor_token, and no other token", async () => {
    const own = { sub: "agent", client_id: "agent", jti: newJti(randomBytes) };
    const actorToken = await tokenOf(subjectClaims(own));
    const params = { actorToken, actorTokenType: ACCESS_TOKEN };
    const { answer, asked } = await exchange({ params });
    expect(answer).toMatchObject({ issuedTokenType: ACCESS_TOKEN });
    expect(asked[1]).toEqual({ jti: own.jti, clientId: "agent" });
    const another = await tokenOf(subjectClaims());
    expect((await exchange({ params: { ...params, actorToken: another } })).answer).toEqual(["invalid_request", "actor_is_not_the_client"]);
  });

  test("records a refusal with the subject token's id, user, grant and chain", async () => {
    const refused = await exchange({ claims: { exp: NOW, act: { sub: "first" } } });
    expect(refused.answer).toEqual(["invalid_request", "subject_token_expired"]);
    expect(refused.writes).toEqual([
      [
        "audit.record",
        {
          event: "token.refused",
          outcome: "failure",
          error: "invalid_request",
          reason: "subject_token_expired",
          rule: "subject_token_unexpired",
          actor: { type: "client", id: "agent" },
          clientId: "agent",
          grantType: TOKEN_EXCHANGE,
          requestId: "r1",
          actChain: ["agent", "first"],
          jti: subjectClaims().jti,
          userId: aSubject().userId,
          grantId: GRANT_ID,
        },
      ],
    ]);
  });

  test("records a refusal without user or grant where they are unknown", async () => {
    const refused = await exchange({ state: { subject: null, root: null } });
    expect(refused.answer).toEqual(["invalid_request", "subject_user_disabled"]);
    expect(recordOf(refused)).not.toHaveProperty("userId");
    expect(recordOf(refused)).not.toHaveProperty("grantId");
    const unknown = await exchange({ params: { subjectToken: "x" } });
    expect(unknown.answer).toEqual(["invalid_request", "subject_token_not_issued_here"]);
    expect(recordOf(unknown)).toMatchObject({ actChain: ["agent"] });
    expect(recordOf(unknown)).not.toHaveProperty("jti");
  });

  test("refuses, records and counts a public client as a failure, and does not evaluate it while it is throttled", async () => {
    const world = { clients: [publicAgent] };
    const { answer, writes } = await exchange({ client: { clientId: "agent", address: "192.0.2.1" }, world });
    expect(answer).toEqual(["invalid_client", "public_client"]);
    expect(writes.map(([method]) => method)).toEqual(["audit.record", "throttle.failed"]);
    expect(writes[1]).toEqual(["throttle.failed", "agent", "192.0.2.1"]);
    expect(recordOf({ writes })).toMatchObject({ rule: "confidential_client", actChain: ["agent"] });
    const assertOpen = () => {
      throw Object.assign(new Error("too many"), { code: "too_many_requests", reason: "throttled" });
    };
    const throttled = (ports: CorePorts) => ({ throttle: { ...ports.throttle, assertOpen } });
    const again = await exchange({ client: { clientId: "agent" }, world: { ...world, ports: throttled } });
    expect([again.answer, again.writes]).toEqual([["too_many_requests", "throttled"], []]);
    const confidential = await exchange({ world: { ports: throttled } });
    expect(confidential.answer).toMatchObject({ issuedTokenType: ACCESS_TOKEN });
  });

  test("reports the rule that now fails after a lost race", async () => {
    expect((await exchange({ world: { succeeds: false } })).answer).toEqual(["invalid_request", "subject_token_ended"]);
    const found = [agent, { ...agent, enabled: false }];
    const disabled = await exchange({
      world: { succeeds: false, ports: () => ({ clients: { byClientId: async () => found.shift() } }) },
    });
    expect(disabled.answer).toEqual(["invalid_client", "client_disabled"]);
    expect(recordOf(disabled)).toMatchObject({ rule: "client_enabled", actChain: ["agent"] });
    const gone = [agent];
    const deleted = await exchange({ world: { succeeds: false, ports: () => ({ clients: { byClientId: async () => gone.shift() } }) } });
    expect(deleted.answer).toEqual(["invalid_client", "client_disabled"]);
    const states = [aTokenState(), aTokenState({ agentPaused: true })];
    const paused = await exchange({
      world: { succeeds: false, ports: ({ tokens }) => ({ tokens: { ...tokens, of: async () => states.shift() ?? aTokenState() } }) },
    });
    expect(paused.answer).toEqual(["unauthorized_client", "agent_paused"]);
    expect(recordOf(await exchange({ world: { succeeds: false } }))).toMatchObject({ rule: "subject_token_lives" });
  });
});

describe("an exchange for an identity assertion", () => {
  const OTHER = "https://other.example.test";
  const params = { requestedTokenType: ID_JAG, audience: [OTHER], resource: [CRM] };

  test("issues an assertion for the other issuer", async () => {
    const { answer, token, delegation, writes } = await exchange({ params, claims: { aud: ["agent", OTHER, CRM], act: { sub: "first" } } });
    expect(answer).toEqual({
      accessToken: expect.any(String),
      tokenType: "N_A",
      expiresIn: 300,
      scope: "crm:read email",
      issuedTokenType: ID_JAG,
    });
    expect(token).toEqual({
      typ: "oauth-id-jag+jwt",
      iss: ISSUER,
      sub: aSubject().userId,
      aud: OTHER,
      client_id: "agent",
      jti: delegation?.jti,
      iat: NOW,
      exp: NOW + 300,
      auth_time: 900,
      scope: "crm:read email",
      resource: CRM,
      email: "ada@example.test",
      email_verified: true,
      act: { sub: "first" },
    });
    expect(delegation).toMatchObject({ kind: "id_jag", expiresAt: NOW + 300, jti: expect.stringMatching(/^[\w-]{22}$/) });
    expect(writes[0]?.[2]).toMatchObject({ event: "identity_assertion.issued", jti: delegation?.jti, actChain: ["first"] });
  });

  test("uses the audience as requested, and resources as spelled in the subject token, each once", async () => {
    const aud = ["agent", `${OTHER}/`, CRM];
    const { token } = await exchange({ params: { ...params, resource: [CRM, CRM] }, claims: { aud, exp: NOW + 100 } });
    expect([token.aud, token.resource, token.exp]).toEqual([OTHER, CRM, NOW + 100]);
    const none = await exchange({ params: { ...params, resource: [] }, claims: { aud } });
    expect(none.token).not.toHaveProperty("resource");
  });
});

describe("a token exchange with failed client authentication", () => {
  const unproven = (error: string, reason: string, clientId = "agent") => ({
    event: "token.refused",
    outcome: "failure",
    error,
    reason,
    actor: { type: "client", id: clientId },
    clientId,
    grantType: GRANTS.tokenExchange.grantType,
    actChain: [clientId],
    requestId: "r1",
  });

  test.for([
    ["a wrong secret", { basic: { clientId: "agent", clientSecret: "wrong" }, address: "192.0.2.1" }, "wrong_secret", "client_proven"],
    [
      "two methods",
      { basic: { clientId: "agent", clientSecret: "a" }, clientSecret: "b", address: "192.0.2.1" },
      "several_methods",
      undefined,
    ],
    [
      "contradicting names",
      { basic: { clientId: "agent", clientSecret: "a" }, clientId: "b", address: "192.0.2.1" },
      "contradicting_client_ids",
      undefined,
    ],
    [
      "two methods in the body",
      { clientId: "agent", clientSecret: "b", assertion: { clientAssertionType: "x", clientAssertion: "y" }, address: "192.0.2.1" },
      "several_methods",
      undefined,
    ],
  ] as const)("is recorded for the named client: %s", async ([, client, reason, rule]) => {
    const { answer, writes } = await exchange({ client });
    expect(answer).toEqual(["invalid_client", reason]);
    expect(writes.filter(([method]) => method === "audit.recordUnproven")).toEqual([
      ["audit.recordUnproven", { ...unproven("invalid_client", reason), ...(rule && { rule }) }, "192.0.2.1"],
    ]);
  });

  test.for([{}, undefined])("is not recorded without a named client: %j", async (client) => {
    const { core, writes } = await memoryCore();
    const grant = { case: "tokenExchange", value: { subjectToken: "x", subjectTokenType: ACCESS_TOKEN } } as const;
    const answer = await ask(core, "token", create(TokenRequestSchema, { grant, ...(client && { client }) }));
    expect([answer, writes]).toEqual([["invalid_client", "client_not_named"], []]);
  });

  test.for([
    ["an outage", new Refusal("temporarily_unavailable", "database_gone")],
    ["a fault of the server", new Error("fault")],
  ])("is not recorded when the failure is %s", async ([, error]) => {
    const { core, writes } = await memoryCore({ ports: () => ({ clients: { byClientId: () => Promise.reject(error) } }) });
    const grant = { case: "tokenExchange", value: { subjectToken: "x", subjectTokenType: ACCESS_TOKEN } } as const;
    await expect(core.token(create(TokenRequestSchema, { client: basic, grant }), {})).rejects.toBe(error);
    expect(writes).toEqual([]);
  });

  test.for([
    [
      "the front's error, reason and description",
      { error: "invalid_request", reason: "parameter_repeated", description: "Once." },
      "invalid_request",
      "parameter_repeated",
      "Once.",
    ],
    ["a refused credential", { error: "invalid_client", reason: "basic_malformed" }, "invalid_client", "basic_malformed", undefined],
    ["another error as invalid_request", { error: "server_error", reason: "x_1" }, "invalid_request", "x_1", undefined],
    [
      "a reason that is not an identifier as request_unreadable",
      { error: "invalid_request", reason: "No word" },
      "invalid_request",
      "request_unreadable",
      undefined,
    ],
    ["a reason with a line break", { error: "invalid_request", reason: "word\nmore" }, "invalid_request", "request_unreadable", undefined],
    [
      "a reason that begins with a digit",
      { error: "invalid_request", reason: "1word" },
      "invalid_request",
      "request_unreadable",
      undefined,
    ],
    ["the longest reason", { error: "invalid_request", reason: "a".repeat(64) }, "invalid_request", "a".repeat(64), undefined],
    ["a longer reason", { error: "invalid_request", reason: "a".repeat(65) }, "invalid_request", "request_unreadable", undefined],
  ] as const)("that the front could not parse is refused and recorded with %s", async ([, value, error, reason, description]) => {
    const { core, writes } = await memoryCore({ clients: [agent] });
    const request = create(TokenRequestSchema, { client: basic, requestId: "r1", grant: { case: "refusedTokenExchange", value } });
    const refusal = await core.token(request, {}).catch((thrown: unknown) => thrown);
    expect(refusal).toMatchObject({ code: error, reason, detail: description === undefined ? {} : { description } });
    expect(writes).toEqual([["audit.recordUnproven", unproven(error, reason), "192.0.2.1"]]);
  });
});
