import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { workloadDefaults } from "../../../src/clients/workload.ts";
import type { IdentityAssertionPorts } from "../../../src/core/stored-grants.ts";
import type { WorkloadPorts } from "../../../src/core/workload/rules.ts";
import { Refusal } from "../../../src/errors.ts";
import { ExplainRequestSchema, TokenRequestSchema, Verdict } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { GRANTS } from "../../../src/protocol/grants.ts";
import { ASSERTION_TYPE, jws, keyFor } from "../../support/assertions.ts";
import { aClient, aSubject } from "../../support/builders.ts";
import { ask, claimsOf, ISSUER, memoryCore, NOW } from "../../support/memory-core.ts";
import { NO_WORKLOADS } from "../../support/workloads.ts";

const { grantType } = GRANTS.jwtBearer;
const CRM = "https://crm.example.test/mcp";
const IDP = "https://idp.example.test";
const CI = "https://ci.example.test";
const key = keyFor("ES256", "one");
const keys = { current: async () => [key.jwk], refreshed: async () => [key.jwk] };

const workload = aClient({
  clientId: "desk",
  tokenEndpointAuthMethod: "workload_jwt",
  secretHash: null,
  grantTypes: [grantType],
  scopes: ["crm:read", "crm:write", "openid", "agent:readonly"],
  maxAgentMode: "readonly",
  audience: [CRM, "https://b.example.test"],
});
const notes = aClient({ grantTypes: [grantType], scopes: ["crm:read"], audience: [CRM] });

const identityAssertions: IdentityAssertionPorts = {
  trustedIssuers: [IDP, CI],
  maxLifetime: 300,
  keys,
  assertions: { accept: async () => aSubject().userId, outlook: async () => ({ enabled: true, agentPaused: false, used: false }) },
};

interface World {
  readonly client?: typeof workload;
  /** ID_JAG_ENABLED */
  readonly idJag?: boolean;
  /** Whether a platform is trusted. */
  readonly platform?: boolean;
  readonly used?: boolean;
  readonly find?: WorkloadPorts["find"];
}

async function worldOf({ client = workload, idJag = false, platform = true, used = false, find }: World) {
  const recorded: { reason?: string | undefined; clientId?: string | undefined }[] = [];
  const workloads: WorkloadPorts = {
    ...NO_WORKLOADS,
    configured: async () => platform,
    find: async (issuers, subject) =>
      platform && issuers.includes(CI)
        ? [
            {
              ...workloadDefaults("oidc"),
              ...{ id: "1", issuer: CI, kind: "oidc", createdAt: 1, updatedAt: null },
              identities: subject === "stranger" ? [] : [{ subject, claims: {}, clientId: "desk" }],
            },
          ]
        : [],
    ...(find && { find }),
    keys: () => ({ source: CI, keys }),
    recordRefusal: async (entry) => void recorded.push(entry),
  };
  const made = await memoryCore({
    clients: [client, notes],
    succeeds: !used,
    ports: ({ consumedIds }) => ({
      workloads,
      ...(idJag && { identityAssertions }),
      consumedIds: { ...consumedIds, isConsumed: async () => used },
    }),
  });
  return { ...made, recorded };
}

const basic = { basic: { clientId: "notes-app", clientSecret: "the-secret" } };
const platformToken = (claims: object = {}, header: object = {}, by = key) =>
  jws({ iss: CI, sub: "repo:acme", aud: ISSUER, jti: "j", iat: NOW, exp: NOW + 300, ...claims }, by, { typ: "JWT", kid: "one", ...header });
const identityAssertion = () =>
  jws(
    {
      ...{ iss: IDP, sub: "e-7", aud: ISSUER, client_id: "notes-app", jti: "j", iat: NOW, exp: NOW + 100 },
      ...{ scope: "crm:read", resource: CRM },
    },
    key,
    { typ: "oauth-id-jag+jwt", kid: "one" },
  );

interface Sent extends World {
  readonly assertion?: string;
  readonly credential?: object;
  readonly params?: object;
}
const requestOf = ({ assertion = platformToken(), credential = {}, params = { resource: [CRM] } }: Sent) =>
  create(TokenRequestSchema, {
    client: { address: "192.0.2.1", ...credential },
    requestId: "r1",
    grant: { case: "jwtBearer", value: { assertion, ...params } },
  });

async function present(sent: Sent = {}) {
  const world = await worldOf(sent);
  return { ...world, answer: await ask(world.core, "token", requestOf(sent)) };
}

describe("docs/protocol.md#workload-grant: the client of a workload gets a token of its own", () => {
  test("without a credential; its record names the workload", async () => {
    const { answer, writes } = await present({ params: { resource: [CRM], scope: "crm:read" } });
    const { accessToken, refreshToken } = answer as { accessToken: string; refreshToken?: string };
    expect(claimsOf(accessToken)).toMatchObject({ sub: "desk", client_id: "desk", aud: CRM, scope: "crm:read" });
    expect(refreshToken).toBeUndefined();
    expect(writes).toEqual([
      ["consume", "workload_token", CI, "j", 360, undefined],
      [
        "audit.recordIssue",
        expect.objectContaining({
          event: "token.issued",
          clientId: "desk",
          grantType,
          workloadIssuer: CI,
          workloadSubject: "repo:acme",
        }),
      ],
    ]);
  });

  test("without scope it gets all that it may have, but for agent modes and scopes of users", async () => {
    const { answer } = await present();
    expect((answer as { scope: string }).scope).toBe("crm:read crm:write");
    expect(await present({ params: { resource: [CRM], scope: "agent:readonly" } })).toMatchObject({ answer: { scope: "agent:readonly" } });
  });

  test.for<readonly [string, Sent, readonly [code: string, reason: string]]>([
    ["no assertion", { assertion: "" }, ["invalid_request", "assertion_missing"]],
    ["another audience", { assertion: platformToken({ aud: "x" }) }, ["invalid_grant", "workload_for_another_audience"]],
    ["an unknown issuer", { assertion: platformToken({ iss: "https://x.example" }) }, ["invalid_grant", "workload_issuer_unknown"]],
    ["another key", { assertion: platformToken({}, {}, keyFor("ES256")) }, ["invalid_grant", "signature_wrong"]],
    ["a key in the header", { assertion: platformToken({}, { jwk: key.jwk }) }, ["invalid_grant", "assertion_brings_its_key"]],
    ["an access token", { assertion: platformToken({}, { typ: "at+jwt" }) }, ["invalid_grant", "assertion_of_another_kind"]],
    ["a malformed assertion", { assertion: "a.b.c" }, ["invalid_grant", "assertion_malformed"]],
    ["claims that are a list", { assertion: jws([], key, { typ: "JWT", kid: "one" }) }, ["invalid_grant", "assertion_malformed"]],
    ["a kid that is a number", { assertion: platformToken({}, { kid: 1 }) }, ["invalid_grant", "assertion_malformed"]],
    [
      "an algorithm of shared secrets",
      { assertion: platformToken({}, { alg: "HS256" }) },
      ["invalid_grant", "assertion_algorithm_not_accepted"],
    ],
    ["a good token whose client is gone", { client: aClient({ clientId: "other" }) }, ["unauthorized_client", "client_unknown"]],
    ["a good token without a client", { assertion: platformToken({ sub: "stranger" }) }, ["unauthorized_client", "workload_unknown"]],
    ["an expired token without a client", { assertion: platformToken({ sub: "stranger", exp: 1 }) }, ["invalid_grant", "workload_expired"]],
    ["a disabled client", { client: aClient({ ...workload, enabled: false }) }, ["unauthorized_client", "client_disabled"]],
    [
      "a client of another method",
      { client: aClient({ ...workload, tokenEndpointAuthMethod: "none" }) },
      ["unauthorized_client", "method_not_registered"],
    ],
    [
      "a client without the grant",
      { client: aClient({ ...workload, grantTypes: ["client_credentials"] }) },
      ["unauthorized_client", "grant_not_held"],
    ],
    [
      "a proof that the client needs",
      { client: aClient({ ...workload, dpopBoundAccessTokens: true }) },
      ["invalid_dpop_proof", "dpop_missing"],
    ],
    [
      "authorization_details",
      { params: { resource: [CRM], authorizationDetailsPresent: true } },
      ["invalid_authorization_details", "authorization_details_unsupported"],
    ],
    ["no resource", { params: {} }, ["invalid_target", "resource_missing"]],
    ["another resource", { params: { resource: ["https://c.example.test"] } }, ["invalid_target", "resource_outside_audience"]],
    ["another scope", { params: { resource: [CRM], scope: "hr:read" } }, ["invalid_scope", "scope_not_allowed"]],
    ["a scope of users", { params: { resource: [CRM], scope: "openid" } }, ["invalid_scope", "scope_not_allowed"]],
    [
      "a client of agent modes alone, without scope",
      { client: aClient({ ...workload, scopes: ["agent:readonly"] }) },
      ["invalid_scope", "no_scope_left"],
    ],
    ["a mode above the ceiling", { params: { resource: [CRM], scope: "agent:exec" } }, ["invalid_scope", "scope_not_allowed"]],
    ["a client_id", { credential: { clientId: "desk" } }, ["invalid_grant", "workload_with_client_credential"]],
  ])("not for %s, which uses nothing up", async ([, sent, refusal]) => {
    const { answer, writes } = await present(sent);
    expect(answer).toEqual(refusal);
    expect(writes.filter(([method]) => method === "consume")).toEqual([]);
  });

  const because = (error: string, reason: string, rule: string) => ({ error, reason, rule });
  const unnamed = { actor: { type: "service", id: "client-authentication" } };
  const named = { actor: { type: "client", id: "desk" }, clientId: "desk", workloadIssuer: CI, workloadSubject: "repo:acme" };

  test.for<readonly [string, Sent, object]>([
    ["of no platform", { assertion: "a.b.c" }, { ...because("invalid_grant", "assertion_malformed", "workload_form"), ...unnamed }],
    [
      "of a stranger",
      { assertion: platformToken({ sub: "stranger" }) },
      { ...because("unauthorized_client", "workload_unknown", "workload_identity"), ...unnamed, workloadIssuer: CI },
    ],
    [
      "of a client without the grant",
      { client: aClient({ ...workload, grantTypes: ["client_credentials"] }) },
      { ...because("unauthorized_client", "grant_not_held", "grant_held"), ...named },
    ],
  ])("a refusal %s is recorded with what was known by then, and counts for its address", async ([, sent, known]) => {
    const { recorded, writes } = await present(sent);
    const always = { event: "workload.refused", outcome: "failure", grantType, requestId: "r1", address: "192.0.2.1" };
    expect(recorded).toEqual([{ ...always, ...known }]);
    expect(writes).toEqual([["throttle.failed", "", "192.0.2.1"]]);
    const nowhere = await present({ ...sent, credential: { address: "" } });
    expect(nowhere.recorded[0]).not.toHaveProperty("address");
    expect(nowhere.writes).toEqual([["throttle.failed", "", ""]]);
  });

  test("what cannot be judged for now is no refusal", async () => {
    const { core, recorded, writes } = await worldOf({ find: () => Promise.reject(new Refusal("temporarily_unavailable", "away")) });
    expect(await ask(core, "token", requestOf({}))).toEqual(["temporarily_unavailable", "away"]);
    expect([recorded, writes]).toEqual([[], []]);
  });

  test("a client without the grant learns only the code, as one that does not exist", async () => {
    const { core } = await worldOf({ client: aClient({ ...workload, grantTypes: ["client_credentials"] }) });
    const refused = await core.token(requestOf({}), {}).catch((error) => error);
    expect([refused.code, refused.reason, refused.detail.description]).toEqual(["unauthorized_client", "grant_not_held", undefined]);
  });

  test("a token that was used before is refused, like any other fault, and no token is issued", async () => {
    const { answer, writes } = await present({ used: true });
    expect(answer).toEqual(["invalid_grant", "workload_used_before"]);
    expect(writes.map(([method]) => method)).not.toContain("audit.recordIssue");
  });
});

describe("docs/protocol.md#workloads: a client that authenticates by the token of its workload", () => {
  const client = aClient({ ...workload, grantTypes: ["client_credentials"] });
  async function request(claims: object, scope: string, world: World = { client }) {
    const { core, writes, recorded } = await worldOf(world);
    const assertion = { clientAssertionType: ASSERTION_TYPE, clientAssertion: platformToken(claims) };
    const grant = { case: "clientCredentials", value: { scope } } as const;
    const message = create(TokenRequestSchema, { client: { assertion, address: "192.0.2.1" }, requestId: "r1", grant });
    return { answer: await ask(core, "token", message), writes, recorded };
  }
  const named = { clientId: "desk", workloadIssuer: CI, workloadSubject: "repo:acme" };

  test("gets a token; its record, and that of a refusal, name the workload", async () => {
    const granted = await request({}, "crm:read");
    expect(granted.answer).toMatchObject({ scope: "crm:read" });
    expect(granted.writes.at(-1)).toEqual(["audit.recordIssue", expect.objectContaining({ event: "token.issued", ...named })]);
    const refused = await request({}, "hr:read");
    expect(refused.answer).toEqual(["invalid_scope", "scope_not_allowed"]);
    expect(refused.writes.at(-1)).toEqual(["audit.record", expect.objectContaining({ event: "token.refused", ...named })]);
  });

  test("is refused for another audience, with a record of its own that names the request", async () => {
    const { answer, writes, recorded } = await request({ aud: "x" }, "crm:read");
    expect(answer).toEqual(["invalid_client", "workload_for_another_audience"]);
    expect(recorded).toEqual([
      expect.objectContaining({
        event: "workload.refused",
        ...named,
        address: "192.0.2.1",
        grantType: "client_credentials",
        requestId: "r1",
      }),
    ]);
    expect(writes).toEqual([["throttle.failed", "desk", "192.0.2.1"]]);
  });
});

describe("docs/protocol.md#workload-grant: neither jwt-bearer grant takes what belongs to the other", () => {
  const granted = "granted";
  const cases: readonly (readonly [
    idJag: boolean,
    platform: boolean,
    sent: "identity" | "workload" | "malformed",
    by: object,
    outcome: unknown,
  ])[] = [
    [true, true, "identity", basic, granted],
    [true, true, "identity", {}, ["invalid_client", "client_not_named"]],
    [true, true, "workload", {}, granted],
    [true, true, "workload", basic, ["invalid_grant", "workload_with_client_credential"]],
    [true, true, "malformed", basic, ["invalid_grant", "assertion_malformed"]],
    [true, true, "malformed", {}, ["invalid_client", "client_not_named"]],
    [true, false, "identity", basic, granted],
    [true, false, "workload", {}, ["invalid_client", "client_not_named"]],
    [true, false, "workload", basic, ["invalid_grant", "assertion_of_another_kind"]],
    [false, true, "identity", basic, ["unsupported_grant_type", "grant_not_served"]],
    [false, true, "identity", {}, ["unsupported_grant_type", "grant_not_served"]],
    [false, true, "workload", {}, granted],
    [false, true, "workload", basic, ["invalid_grant", "workload_with_client_credential"]],
    [false, true, "malformed", {}, ["invalid_grant", "assertion_malformed"]],
    [false, false, "identity", basic, ["unsupported_grant_type", "grant_not_served"]],
    [false, false, "workload", {}, ["unsupported_grant_type", "grant_not_served"]],
    [false, false, "malformed", basic, ["unsupported_grant_type", "grant_not_served"]],
  ];
  test.for(cases)("ID-JAG %s, platforms %s: %s by %j", async ([idJag, platform, sent, credential, outcome]) => {
    const assertion = { identity: identityAssertion, workload: platformToken, malformed: () => "a.b.c" }[sent]();
    const { answer } = await present({ idJag, platform, assertion, credential });
    expect("accessToken" in answer ? granted : answer).toEqual(outcome);
  });
});

describe("docs/explain.md: a workload's request", () => {
  interface Explained {
    readonly rules: readonly { readonly rule: string; readonly verdict: Verdict; readonly reason?: string }[];
    readonly granted?: object;
  }
  const explained = async (sent: Sent) => {
    const { core, writes } = await worldOf(sent);
    const request = create(ExplainRequestSchema, { subject: { case: "tokenRequest", value: requestOf(sent) } });
    const answer = (await ask(core, "explain", request)) as Explained;
    expect(writes).toEqual([]);
    return {
      ...answer,
      rules: answer.rules.map(({ rule, verdict, reason }) => `${rule} ${verdict === Verdict.PASSED ? "passed" : reason}`),
    };
  };

  test("lists every rule and what would be granted, and uses nothing up", async () => {
    const { rules, granted } = await explained({});
    expect(granted).toMatchObject({ sub: "desk", scope: "crm:read crm:write", aud: [CRM] });
    expect(rules).toEqual(
      [
        ...["parameters_present", "no_client_credential", "workload_form", "workload_issuer", "workload_algorithm", "workload_audience"],
        ...["workload_time", "workload_id", "workload_signed", "workload_identity", "workload_client", "grant_held", "dpop_proof"],
        ...["no_authorization_details", "resource_named", "scope", "resource", "workload_unused"],
      ].map((rule) => `${rule} passed`),
    );
  });

  test("explains a client that authenticates by the token of its workload", async () => {
    const client = aClient({ ...workload, grantTypes: ["client_credentials"] });
    const provenBy = async (claims: object, used = false) => {
      const { core, writes } = await worldOf({ client, used });
      const assertion = { clientAssertionType: ASSERTION_TYPE, clientAssertion: platformToken(claims) };
      const grant = { case: "clientCredentials", value: { scope: "crm:read" } } as const;
      const value = create(TokenRequestSchema, { client: { assertion }, grant });
      const answer = await ask(core, "explain", create(ExplainRequestSchema, { subject: { case: "tokenRequest", value } }));
      expect(writes).toEqual([]);
      return (answer as Explained).rules.filter(({ verdict }) => verdict === Verdict.REFUSED).map(({ rule, reason }) => [rule, reason]);
    };
    expect(await provenBy({})).toEqual([]);
    expect(await provenBy({ aud: "x" })).toEqual([["client_proven", "workload_for_another_audience"]]);
    expect(await provenBy({}, true)).toEqual([["client_proven", "workload_used_before"]]);
    expect(await provenBy({ sub: "stranger" })).toEqual([["client_known", "workload_unknown"]]);
  });

  test("names the client that a workload's token stands for, and the rule that says why it stands for none", async () => {
    const standsFor = async (token: string, { verifySignature = true, ...world }: World & { verifySignature?: boolean } = {}) => {
      const { core, writes } = await worldOf(world);
      const subject = { case: "workloadToken", value: { token, verifySignature } } as const;
      const { rules = [], ...rest } = (await ask(core, "explain", create(ExplainRequestSchema, { subject }))) as {
        rules?: { rule: string; verdict: Verdict }[];
      };
      expect(writes).toEqual([]);
      return {
        ...rest,
        refused: rules.filter(({ verdict }) => verdict === Verdict.REFUSED).map(({ rule }) => rule),
        last: rules.at(-1)?.rule,
      };
    };
    const last = "workload_unused";
    expect(await standsFor(platformToken())).toEqual({ clientId: "desk", refused: [], last });
    expect(await standsFor(platformToken({ aud: "x" }))).toEqual({ refused: ["workload_audience"], last });
    expect(await standsFor(platformToken(), { used: true })).toEqual({ refused: [last], last });
    const forged = platformToken({}, {}, keyFor("ES256", "one"));
    expect(await standsFor(forged)).toEqual({ refused: ["workload_signed"], last });
    expect(await standsFor(forged, { verifySignature: false })).toEqual({ clientId: "desk", refused: [], last });
  });

  test("names the rule that refuses", async () => {
    expect((await explained({ assertion: platformToken({ aud: "x" }) })).rules).toContain(
      "workload_audience workload_for_another_audience",
    );
    expect((await explained({ used: true })).rules).toContain("workload_unused workload_used_before");
    expect((await explained({ platform: false })).rules).toContain("credential client_not_named");
  });
});
