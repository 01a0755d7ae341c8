import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_ACTORS } from "../../../src/clients/client.ts";
import { ACCESS_TOKEN_TYPE } from "../../../src/core/grants/grant.ts";
import { tokenExchange } from "../../../src/core/grants/token-exchange/grant.ts";
import { ID_JAG_TYPE, REQUEST_RULES } from "../../../src/core/grants/token-exchange/request-rules.ts";
import {
  decideExchange as decideOnTokens,
  type ExchangeFacts,
  type PresentedToken,
} from "../../../src/core/grants/token-exchange/rules.ts";
import { ENFORCED } from "../../../src/core/policy/rule.ts";
import {
  type AccessTokenClaims,
  type Actor,
  accessTokenClaims,
  actorsOf,
  appendActor,
  delegationJti,
  newJti,
  tokenLifetime,
} from "../../../src/core/tokens/access-token.ts";
import { aClient, aSubject, aTokenState, descriptionOf, exchangeGrant, refusalOf, someTerms } from "../../support/builders.ts";

const ISSUER = "https://issuer.example.test";
const CRM = "https://crm.example.test/mcp";
const OTHER = "https://other.example.test";
const ID = "01900000-0000-7000-8000-00000000000d";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

const agent = aClient({
  clientId: "agent",
  isAgent: true,
  maxAgentMode: "admin",
  grantTypes: ["client_credentials", TOKEN_EXCHANGE],
  scopes: ["openid", "crm:read", "agent:readonly", "agent:admin", "agent:exec"],
});
const randomBytes = (length: number) => new Uint8Array(length);

const claims = (members: Partial<AccessTokenClaims> = {}): AccessTokenClaims => ({
  ...accessTokenClaims({
    issuer: ISSUER,
    subject: aSubject().userId,
    audience: ["agent", CRM, OTHER],
    clientId: "web",
    scopes: ["openid", "offline_access", "crm:read", "agent:readonly", "agent:exec"],
    jti: newJti(randomBytes, ID),
    now: 1000,
    lifetime: 900,
  }),
  ...members,
});
const subject = (members: Partial<AccessTokenClaims> = {}, state: Parameters<typeof aTokenState>[0] = {}): PresentedToken => ({
  claims: claims(members),
  state: aTokenState(state),
});
const ownToken = (members: Partial<AccessTokenClaims> = {}, state: Parameters<typeof aTokenState>[0] = {}): PresentedToken => ({
  claims: claims({ sub: "agent", client_id: "agent", jti: newJti(randomBytes), ...members }),
  state: aTokenState({ grantLives: false, subject: null, root: null, ...state }),
});
const facts = (members: Partial<ExchangeFacts> = {}): ExchangeFacts => ({
  client: agent,
  params: exchangeGrant(),
  subject: subject(),
  actor: undefined,
  clients: new Map([["agent", { enabled: true }]]),
  terms: [],
  issuer: ISSUER,
  ...members,
});
const decideExchange = (exchange: ExchangeFacts) => {
  const request = { client: exchange.client, grant: { case: "tokenExchange", value: exchange.params } } as const;
  for (const rule of REQUEST_RULES) ENFORCED.check(rule, request);
  return decideOnTokens(exchange);
};
const chain = (...names: string[]): Actor | undefined =>
  names.reduceRight<Actor | undefined>((act, sub) => (act ? { sub, act } : { sub }), undefined);
const withActor = { actorToken: "actor", actorTokenType: ACCESS_TOKEN_TYPE };
const assertion = (members: Parameters<typeof exchangeGrant>[0] = {}) =>
  exchangeGrant({ requestedTokenType: ID_JAG_TYPE, audience: [OTHER], ...members });

describe("docs/protocol.md#token-exchange-rules: each rule refuses on its own, with its own reason", () => {
  const cases: readonly (readonly [Partial<ExchangeFacts>, readonly [string, string] | "granted"])[] = [
    [{}, "granted"],
    [{ client: { ...agent, tokenEndpointAuthMethod: "none" } }, ["invalid_client", "public_client"]],
    [{ client: { ...agent, isAgent: false } }, ["unauthorized_client", "not_an_agent"]],
    [{ client: { ...agent, grantTypes: ["client_credentials"] } }, ["unauthorized_client", "grant_not_held"]],
    [{ params: exchangeGrant({ subjectToken: "" }) }, ["invalid_request", "subject_token_missing"]],
    [{ params: exchangeGrant({ subjectTokenType: "" }) }, ["invalid_request", "subject_token_type_missing"]],
    [{ params: exchangeGrant({ subjectTokenType: "jwt" }) }, ["invalid_request", "subject_token_type_unsupported"]],
    [{ params: exchangeGrant({ subjectTokenType: ID_JAG_TYPE }) }, ["invalid_request", "subject_token_type_unsupported"]],
    [{ params: exchangeGrant({ requestedTokenType: "jwt" }) }, ["invalid_request", "requested_token_type_unsupported"]],
    [{ params: exchangeGrant({ ...withActor, actorTokenType: "jwt" }) }, ["invalid_request", "actor_token_type_unsupported"]],
    [{ params: exchangeGrant({ actorToken: "actor" }) }, ["invalid_request", "actor_token_type_missing"]],
    [{ params: exchangeGrant({ actorTokenType: ACCESS_TOKEN_TYPE }) }, ["invalid_request", "actor_token_missing"]],
    [{ params: assertion({ audience: [] }) }, ["invalid_request", "audience_not_one"]],
    [{ params: exchangeGrant({ authorizationDetailsPresent: true }) }, ["invalid_request", "authorization_details_unsupported"]],
    [{ params: assertion({ authorizationDetailsPresent: true }) }, ["invalid_request", "authorization_details_unsupported"]],
    [{ subject: undefined }, ["invalid_request", "subject_token_not_issued_here"]],
    [{ subject: subject({}, { now: 1900 }) }, ["invalid_request", "subject_token_expired"]],
    [{ subject: ownToken() }, ["invalid_request", "subject_is_no_user"]],
    [{ subject: subject({}, { subject: null }) }, ["invalid_request", "subject_user_disabled"]],
    [
      { subject: subject({}, { subject: { ...aSubject({ enabled: false }), role: "developer" } }) },
      ["invalid_request", "subject_user_disabled"],
    ],
    [{ subject: subject({}, { revoked: true }) }, ["invalid_request", "subject_token_ended"]],
    [{ subject: subject({}, { grantLives: false }) }, ["invalid_request", "subject_token_ended"]],
    [{ subject: subject({}, { clientEnabled: false }) }, ["invalid_request", "subject_token_ended"]],
    [{ subject: subject({}, { root: { grantId: ID, authTime: 900, signedOut: true } }) }, ["invalid_request", "subject_signed_out"]],
    [{ subject: subject({ aud: CRM }) }, ["invalid_request", "subject_token_not_for_agent"]],
    [{ subject: subject({}, { agentPaused: true }) }, ["unauthorized_client", "agent_paused"]],
    [{ params: exchangeGrant(withActor) }, ["invalid_request", "actor_token_not_issued_here"]],
    [{ params: exchangeGrant(withActor), actor: ownToken({ exp: 1000 }) }, ["invalid_request", "actor_token_expired"]],
    [{ params: exchangeGrant(withActor), actor: ownToken({ sub: "other" }) }, ["invalid_request", "actor_is_not_the_client"]],
    [{ params: exchangeGrant(withActor), actor: subject({ sub: "agent" }) }, ["invalid_request", "actor_is_not_the_client"]],
    [{ params: exchangeGrant(withActor), actor: ownToken({}, { revoked: true }) }, ["invalid_request", "actor_token_ended"]],
    [{ params: exchangeGrant(withActor), actor: ownToken() }, "granted"],
    [{ subject: subject({ may_act: { sub: "other" } }) }, ["invalid_request", "may_act_names_another"]],
    [{ subject: subject({ may_act: {} }) }, ["invalid_request", "may_act_names_another"]],
    [{ subject: subject({ may_act: { sub: "agent" } }) }, "granted"],
    [{ params: exchangeGrant({ scope: "crm:read crm:write" }) }, ["invalid_scope", "scope_wider_than_subject"]],
    [{ params: exchangeGrant({ scope: "CRM:READ" }) }, ["invalid_scope", "scope_wider_than_subject"]],
    [{ params: exchangeGrant({ scope: 'crm"read' }) }, ["invalid_scope", "scope_malformed"]],
    [{ params: exchangeGrant({ scope: "agent:exec" }) }, ["invalid_scope", "agent_mode_above_ceiling"]],
    [{ params: exchangeGrant({ scope: "agent:admin" }) }, ["invalid_scope", "scope_wider_than_subject"]],
    [{ params: exchangeGrant({ scope: "offline_access" }) }, ["invalid_scope", "scope_not_allowed"]],
    [{ client: { ...agent, scopes: [] }, params: exchangeGrant({ scope: "crm:read" }) }, ["invalid_scope", "scope_not_allowed"]],
    [
      { client: { ...agent, scopes: ["crm:read"] }, params: exchangeGrant({ scope: "agent:readonly" }) },
      ["invalid_scope", "scope_not_allowed"],
    ],
    [{ params: exchangeGrant({ resource: ["https://else.example.test"] }) }, ["invalid_target", "resource_outside_subject"]],
    [{ params: exchangeGrant({ audience: ["unknown"] }) }, ["invalid_target", "resource_malformed"]],
    [{ params: exchangeGrant({ resource: [`${CRM}#x`] }) }, ["invalid_target", "resource_malformed"]],
    [{ params: exchangeGrant({ resource: [CRM], audience: ["agent"] }) }, "granted"],
    [
      { params: exchangeGrant({ resource: Array.from({ length: 11 }, (_, n) => `https://${n}.example.test`) }) },
      ["invalid_target", "too_many_resources"],
    ],
    [{ params: assertion({ audience: ["agent"] }) }, ["invalid_target", "audience_is_no_other_issuer"]],
    [
      { params: assertion({ audience: [ISSUER] }), subject: subject({ aud: ["agent", ISSUER] }) },
      ["invalid_target", "audience_is_no_other_issuer"],
    ],
    [{ params: assertion() }, "granted"],
    [
      { params: assertion({ audience: [`${ISSUER}/`] }), subject: subject({ aud: ["agent", ISSUER] }) },
      ["invalid_target", "audience_is_no_other_issuer"],
    ],
    [{ params: assertion({ audience: [`${OTHER}/`] }) }, "granted"],
    [{ params: exchangeGrant({ resource: [`${CRM}/`] }) }, ["invalid_target", "resource_outside_subject"]],
    [{ subject: subject({ act: { sub: "a", act: { sub: "b", act: { sub: "c" } } } }) }, "granted"],
    [
      { subject: subject({ act: { sub: "a", act: { sub: "b", act: { sub: "c", act: { sub: "d" } } } } }) },
      ["invalid_request", "too_many_actors"],
    ],
    [{ params: assertion(), subject: subject({ act: { sub: "c", act: { sub: "b", act: { sub: "a" } } } }) }, "granted"],
    [
      { params: assertion(), subject: subject({ act: { sub: "d", act: { sub: "c", act: { sub: "b", act: { sub: "a" } } } } }) },
      ["invalid_request", "too_many_actors"],
    ],
  ];

  test.for(cases.map((each) => ({ outcome: [each[1]].flat().join(" "), each })))("case %#: $outcome", ({ each: [members, expected] }) => {
    const refused = refusalOf(() => decideExchange(facts(members)));
    expect(refused).toEqual(expected);
  });

  test.for<readonly [string, Partial<ExchangeFacts>, string]>([
    [
      "a client that is no agent",
      { client: { ...agent, isAgent: false } },
      "The client is not an agent (isAgent): ask an operator to make it one.",
    ],
    [
      "another subject_token_type",
      { params: exchangeGrant({ subjectTokenType: "jwt" }) },
      "subject_token_type must be urn:ietf:params:oauth:token-type:access_token.",
    ],
    [
      "another actor_token_type",
      { params: exchangeGrant({ ...withActor, actorTokenType: "jwt" }) },
      "actor_token_type must be urn:ietf:params:oauth:token-type:access_token.",
    ],
    [
      "another requested_token_type",
      { params: exchangeGrant({ requestedTokenType: "jwt" }) },
      "requested_token_type must be urn:ietf:params:oauth:token-type:access_token or urn:ietf:params:oauth:token-type:id-jag.",
    ],
    [
      "an assertion request with authorization_details",
      { params: assertion({ authorizationDetailsPresent: true }) },
      "authorization_details is not supported: use scope and resource.",
    ],
    [
      "an assertion request without audience",
      { params: assertion({ audience: [] }) },
      "Send audience once: the issuer of the server that the identity assertion is for.",
    ],
    [
      "a fifth actor",
      { subject: subject({ act: { sub: "d", act: { sub: "c", act: { sub: "b", act: { sub: "a" } } } } }) },
      "A chain has at most 4 actors: exchange a token that passed through fewer agents.",
    ],
  ])("%s is refused with a description", ([, members, description]) => {
    expect(descriptionOf(() => decideExchange(facts(members)))).toBe(description);
  });

  test.for([
    [exchangeGrant({ authorizationDetailsPresent: true }), "no_authorization_details"],
    [assertion({ authorizationDetailsPresent: true }), "no_authorization_details"],
    [assertion({ audience: [] }), "assertion_request"],
  ] as const)("the rule that refuses is named: %#", ([params, rule]) => {
    expect(() => decideExchange(facts({ params }))).toThrow(expect.objectContaining({ detail: expect.objectContaining({ rule }) }));
  });

  test.for<readonly [string, Partial<ExchangeFacts>]>([
    ["a public client", { client: { ...agent, tokenEndpointAuthMethod: "none" } }],
    ["a text that is no token", { subject: undefined }],
    ["an expired token", { subject: subject({}, { now: 1900 }) }],
    ["a revoked token", { subject: subject({}, { revoked: true }) }],
    ["a disabled user", { subject: subject({}, { subject: null }) }],
    ["a paused agent", { subject: subject({}, { agentPaused: true }) }],
  ])("%s is refused without a description", ([, members]) => {
    expect(descriptionOf(() => decideExchange(facts(members)))).toBeUndefined();
  });

  test("rule names are distinct, and the first failing rule gives the reason", () => {
    const names = tokenExchange.rules.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const wrong = facts({
      client: { ...agent, tokenEndpointAuthMethod: "none", isAgent: false },
      params: exchangeGrant({ scope: "x", resource: ["y"] }),
      subject: undefined,
    });
    expect(refusalOf(() => decideExchange(wrong))).toEqual(["invalid_client", "public_client"]);
  });
});

const [AGENT_KEY, OTHER_KEY] = [{ jkt: "agent" }, { jkt: "other" }];
const missing = ["invalid_dpop_proof", "dpop_missing"] as const;
const differs = ["invalid_dpop_proof", "dpop_key_differs"] as const;
/** The keys of subject token, actor token ("none" without one) and proof. */
const KEYS: readonly (readonly [
  subject: { jkt: string } | undefined,
  actor: { jkt: string } | undefined | "none",
  proof: { jkt: string } | undefined,
  expected: typeof missing | typeof differs | "granted",
])[] = [
  [undefined, "none", undefined, "granted"],
  [undefined, "none", AGENT_KEY, "granted"],
  [undefined, undefined, undefined, "granted"],
  [undefined, undefined, AGENT_KEY, "granted"],
  [undefined, AGENT_KEY, undefined, missing],
  [undefined, AGENT_KEY, AGENT_KEY, "granted"],
  [undefined, AGENT_KEY, OTHER_KEY, differs],
  [OTHER_KEY, "none", undefined, missing],
  [OTHER_KEY, "none", AGENT_KEY, "granted"],
  [OTHER_KEY, "none", OTHER_KEY, "granted"],
  [OTHER_KEY, undefined, undefined, missing],
  [OTHER_KEY, undefined, AGENT_KEY, "granted"],
  [OTHER_KEY, AGENT_KEY, undefined, missing],
  [OTHER_KEY, AGENT_KEY, AGENT_KEY, "granted"],
  [OTHER_KEY, AGENT_KEY, OTHER_KEY, differs],
];
describe.for(["access token", "identity assertion"])("docs/protocol.md#sender-constraint: an exchange for an %s", (kind) => {
  test.for(KEYS)("of a subject token with %j, an actor token with %j and a proof by %j: %j", ([bound, own, confirmation, expected]) => {
    const cnf = (key: { jkt: string } | undefined) => (key === undefined ? {} : { cnf: key });
    const actor = own === "none" ? undefined : ownToken(cnf(own));
    const more = actor === undefined ? {} : withActor;
    const params = kind === "access token" ? exchangeGrant(more) : assertion(more);
    const attempt = () => decideExchange(facts({ params, subject: subject(cnf(bound)), actor, confirmation }));
    if (expected === "granted") expect(attempt().scopes).toContain("crm:read");
    else expect(refusalOf(attempt)).toEqual(expected);
  });
});

test("RFC 8693 §4.1: the current actor is the outermost, and previous actors are nested in it", () => {
  const granted = decideExchange(facts({ subject: subject({ act: { sub: "second", act: { sub: "first" } }, jti: delegationJti(ID) }) }));
  expect(granted.act).toEqual({ sub: "agent", act: { sub: "second", act: { sub: "first" } } });
});

test("an identity assertion names previous actors only", () => {
  expect(decideExchange(facts({ params: assertion() }))).toMatchObject({ kind: "id_jag", act: undefined });
  expect(decideExchange(facts({ params: assertion(), subject: subject({ act: { sub: "first" } }) })).act).toEqual({ sub: "first" });
});

test("docs/protocol.md#resource-records: an agent gets no scope that a resource of the new token keeps from its kind", () => {
  const terms = [someTerms({ resource: CRM, scopeNames: ["crm:read"], clients: ["registered"] })];
  const exchanged = (params = exchangeGrant(), client = agent) => decideExchange(facts({ terms, params, client })).scopes;
  expect(exchanged()).toEqual(["openid", "agent:readonly"]);
  expect(refusalOf(() => exchanged(exchangeGrant({ scope: "crm:read" })))).toEqual(["invalid_scope", "scope_not_allowed"]);
  expect(exchanged(exchangeGrant({ scope: "crm:read", resource: [OTHER] }))).toEqual(["crm:read"]);
  expect(exchanged(exchangeGrant({ scope: "crm:read" }), { ...agent, origin: "dynamic" })).toEqual(["crm:read"]);
});

test("rule 4, §5: without scope, the token inherits the subject token's scopes within the agent's allowed scopes and ceiling", () => {
  expect(decideExchange(facts({ client: { ...agent, scopes: ["agent:readonly"] } })).scopes).toEqual(["agent:readonly"]);
  expect(decideExchange(facts({ client: { ...agent, scopes: [] } })).scopes).toEqual([]);
  expect(decideExchange(facts())).toMatchObject({ scopes: ["openid", "crm:read", "agent:readonly"], audience: ["agent", CRM, OTHER] });
  const everything = { ...agent, scopes: [...agent.scopes, "offline_access"] };
  expect(decideExchange(facts({ client: everything })).scopes).toEqual(["openid", "offline_access", "crm:read", "agent:readonly"]);
  expect(decideExchange(facts({ params: exchangeGrant({ scope: "openid" }) })).scopes).toEqual(["openid"]);
});

test("disabled and deleted clients are omitted from aud; an empty aud is refused with invalid_target", () => {
  const named = subject({ aud: ["agent", CRM, "paused", "gone", "urn:example:paused", "urn:example:resource"] });
  const clients = new Map([
    ["agent", { enabled: true }],
    ["paused", { enabled: false }],
    ["urn:example:paused", { enabled: false }],
  ]);
  expect(decideExchange(facts({ subject: named, clients })).audience).toEqual(["agent", CRM, "urn:example:resource"]);
  const naming = (resource: string[]) => exchangeGrant({ resource });
  expect(decideExchange(facts({ subject: named, clients, params: naming(["paused", CRM]) })).audience).toEqual([CRM]);
  expect(refusalOf(() => decideExchange(facts({ subject: named, clients, params: naming(["paused"]) })))).toEqual([
    "invalid_target",
    "audience_absent",
  ]);
  expect(refusalOf(() => decideExchange(facts({ subject: named, clients, params: naming(["gone"]) })))).toEqual([
    "invalid_target",
    "resource_malformed",
  ]);
});

test("rule 5: a lifetime exceeds neither the subject token's expiry nor the configured lifetime", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 86_400 }), fc.nat(90_000), fc.nat(90_000), (configured, endsAt, now) => {
      const lifetime = tokenLifetime(configured, endsAt, now);
      expect(lifetime).toBeLessThanOrEqual(configured);
      expect(now + lifetime).toBeLessThanOrEqual(Math.max(endsAt, now + configured));
      expect(now + lifetime).toBeLessThanOrEqual(endsAt);
    }),
  );
});

test("rule 7: a chain grows by one at the front, up to four actors", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1 }), { maxLength: 6 }), fc.string({ minLength: 1 }), (names, next) => {
      const before = chain(...names);
      if (names.length >= MAX_ACTORS) expect(refusalOf(() => appendActor(before, next))).toEqual(["invalid_request", "too_many_actors"]);
      else expect(actorsOf(appendActor(before, next))).toEqual([next, ...names]);
    }),
  );
});
