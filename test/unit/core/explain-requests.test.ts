import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { CorePorts, RefusedRequest } from "../../../src/core/ports.ts";
import { accessTokenClaims, newJti } from "../../../src/core/tokens/access-token.ts";
import { Refusal } from "../../../src/errors.ts";
import {
  type ClientCredentialSchema,
  ExplainRequestSchema,
  TokenRequestSchema,
  Verdict,
} from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { GRANTS, JWT_BEARER } from "../../../src/protocol/grants.ts";
import { hashSecret } from "../../../src/random.ts";
import { ASSERTION_TYPE, anAssertion, keyFor } from "../../support/assertions.ts";
import { aClient, aCode, aFamily, aSubject, VERIFIER } from "../../support/builders.ts";
import { aProof, proofKey, thumbprintOf } from "../../support/dpop.ts";
import { ask, ISSUER, type MemoryWorld, memoryCore, NOW, tokenOf } from "../../support/memory-core.ts";

const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const secret = { basic: { clientId: "notes-app", clientSecret: "the-secret" } };
const named = { clientId: "notes-app" };

interface Sent {
  readonly client?: MessageInitShape<typeof ClientCredentialSchema>;
  readonly grant?: NonNullable<MessageInitShape<typeof TokenRequestSchema>["grant"]>;
}

/** Explains a token request, and asserts that nothing is written. */
async function explain({ client = named, grant }: Sent, world: MemoryWorld = {}) {
  const { core, writes } = await memoryCore(world);
  const value = create(TokenRequestSchema, { client, ...(grant && { grant }) } as MessageInitShape<typeof TokenRequestSchema>);
  const answer = await ask(core, "explain", create(ExplainRequestSchema, { subject: { case: "tokenRequest", value } }));
  expect(writes).toEqual([]);
  if (!("rules" in answer)) return { refused: answer };
  const { rules = [], granted } = answer;
  const of = (wanted: Verdict) => rules.filter(({ verdict }) => verdict === wanted).map(({ rule }) => rule);
  const refusals = rules.filter(({ verdict }) => verdict === Verdict.REFUSED).map(({ rule, error, reason }) => [rule, error, reason]);
  return { granted, refusals, assumed: of(Verdict.TAKEN_FOR_GRANTED), notReached: of(Verdict.NOT_REACHED) };
}

const withGrace = ({ lifetimes }: CorePorts) => ({ lifetimes: { ...lifetimes, refreshReuseGrace: 10 } });
const clientCredentials = { grant: { case: "clientCredentials", value: { scope: "notes:read" } } } as const;
const authorizationCode = {
  grant: { case: "authorizationCode", value: { code: "code", redirectUri: "https://notes.example.test/cb", codeVerifier: VERIFIER } },
} as const;
const refreshToken = { grant: { case: "refreshToken", value: { refreshToken: "a".repeat(64) } } } as const;

describe("explain of a token request", () => {
  test("returns what a client would get by client credentials", async () => {
    expect(await explain({ client: secret, ...clientCredentials })).toEqual({
      granted: { scope: "notes:read", aud: ["notes-app"], expiresIn: 900, issuedTokenType: ACCESS_TOKEN, sub: "notes-app" },
      refusals: [],
      assumed: [],
      notReached: [],
    });
  });

  test("assumes authentication only of a confidential client without a credential", async () => {
    expect(await explain(clientCredentials)).toMatchObject({ refusals: [], assumed: ["method_registered", "client_proven"] });
    const publicClient = aClient({ tokenEndpointAuthMethod: "none", secretHash: null });
    const { refusals, assumed } = await explain(clientCredentials, { clients: [publicClient] });
    expect([refusals, assumed]).toEqual([[["confidential_client", "unauthorized_client", "public_client"]], []]);
    const wrong = { basic: { clientId: "notes-app", clientSecret: "wrong" } };
    expect((await explain({ client: wrong, ...clientCredentials })).refusals).toEqual([
      ["client_proven", "invalid_client", "wrong_secret"],
    ]);
    const either = aClient({ alternativeAuthMethods: ["none"] });
    expect((await explain(clientCredentials, { clients: [either] })).assumed).toEqual([]);
  });

  test("stops at the first rule that refuses", async () => {
    const { granted, refusals, notReached } = await explain(clientCredentials, { clients: [] });
    expect([granted, refusals]).toEqual([undefined, [["client_known", "invalid_client", "client_unknown"]]]);
    expect(notReached).toEqual([
      "method_registered",
      "client_enabled",
      "client_proven",
      "dpop_proof",
      "grant_held",
      "parameters_present",
      "confidential_client",
      "scope",
      "resource",
    ]);
    const disabled = await explain(clientCredentials, { clients: [aClient({ enabled: false })] });
    expect(disabled.refusals).toEqual([["client_enabled", "invalid_client", "client_disabled"]]);
    expect((await explain({ client: {}, ...clientCredentials })).refusals).toEqual([["credential", "invalid_client", "client_not_named"]]);
  });

  test("does not redeem a code", async () => {
    expect((await explain(authorizationCode, { code: aCode() })).granted).toEqual({
      scope: "openid notes:read",
      aud: aCode().resources,
      expiresIn: 900,
      issuedTokenType: ACCESS_TOKEN,
      sub: aSubject().userId,
      refreshToken: true,
      idToken: true,
    });
    const client = aClient({ grantTypes: ["authorization_code"] });
    const plain = await explain(authorizationCode, { clients: [client], code: aCode({ scopes: ["notes:read"] }) });
    expect(plain.granted).toMatchObject({ refreshToken: false, idToken: false });
    const replayed = await explain(authorizationCode, { code: aCode({ grantId: "g1" }) });
    expect(replayed.refusals).toEqual([["code_unused", "invalid_grant", "code_replayed"]]);
    const unheld = await explain(authorizationCode, { clients: [aClient({ grantTypes: [] })], code: aCode() });
    expect(unheld.refusals).toEqual([["grant_held", "unauthorized_client", "grant_not_held"]]);
  });

  test("does not rotate a refresh token", async () => {
    expect((await explain(refreshToken, { family: aFamily() })).granted).toEqual({
      scope: "openid notes:read notes:write",
      aud: aFamily().audience,
      expiresIn: 900,
      issuedTokenType: ACCESS_TOKEN,
      sub: aSubject().userId,
      refreshToken: true,
    });
    const { core } = await memoryCore({ family: aFamily(), ports: withGrace });
    const rotated = await ask(core, "token", create(TokenRequestSchema, { client: secret, ...refreshToken }));
    const used = aFamily({ usedAt: 995, currentHash: hashSecret((rotated as { refreshToken: string }).refreshToken) });
    expect((await explain(refreshToken, { family: used, ports: withGrace })).granted).toMatchObject({ refreshToken: true });
    const replayed = await explain(refreshToken, { family: aFamily({ usedAt: 999 }) });
    expect(replayed.refusals).toEqual([["refresh_token_unused", "invalid_grant", "refresh_token_replayed"]]);
    const unheld = await explain(refreshToken, { clients: [aClient({ grantTypes: [] })], family: aFamily() });
    expect(unheld.refusals).toEqual([["grant_held", "unauthorized_client", "grant_not_held"]]);
  });

  test("does not store a delegation", async () => {
    const agent = aClient({ isAgent: true, scopes: ["crm:read"], grantTypes: [GRANTS.tokenExchange.grantType] });
    const subjectToken = await tokenOf(
      accessTokenClaims({
        issuer: ISSUER,
        subject: aSubject().userId,
        audience: ["notes-app"],
        clientId: "web",
        scopes: ["crm:read"],
        jti: newJti((size) => new Uint8Array(size), aFamily().grantId),
        now: NOW,
        lifetime: 100,
      }),
    );
    const grant = { case: "tokenExchange", value: { subjectToken, subjectTokenType: ACCESS_TOKEN } } as const;
    expect((await explain({ grant }, { clients: [agent] })).granted).toEqual({
      scope: "crm:read",
      aud: ["notes-app"],
      expiresIn: 100,
      issuedTokenType: ACCESS_TOKEN,
      sub: aSubject().userId,
      actors: ["notes-app"],
    });
    const { refusals, notReached } = await explain({ grant }, { clients: [{ ...agent, isAgent: false }] });
    expect([refusals, notReached?.at(-1)]).toEqual([[["agent", "unauthorized_client", "not_an_agent"]], "chain_length"]);
  });

  test("does not consume a client assertion, and reports whether it was used", async () => {
    const key = keyFor("ES256", "k1");
    const client = aClient({ tokenEndpointAuthMethod: "private_key_jwt", secretHash: null, jwks: { keys: [key.jwk] } });
    const clientAssertion = anAssertion(key, { clientId: "notes-app", audience: ISSUER, now: NOW, claims: { jti: "j-1" } });
    const sent = { client: { assertion: { clientAssertionType: ASSERTION_TYPE, clientAssertion } }, ...clientCredentials };
    expect((await explain(sent, { clients: [client] })).refusals).toEqual([]);
    const asked: unknown[] = [];
    const ports = ({ consumedIds }: CorePorts) => ({
      consumedIds: {
        ...consumedIds,
        async isConsumed(...question: unknown[]) {
          asked.push(question);
          return true;
        },
      },
    });
    expect((await explain(sent, { clients: [client], ports })).refusals).toEqual([
      ["client_proven", "invalid_client", "assertion_used_before"],
    ]);
    expect(asked).toEqual([["client_assertion", "notes-app", "j-1"]]);
  });

  test("does not use up a proof of possession, and reports whether it was used", async () => {
    const key = proofKey();
    const url = `${ISSUER}/oauth/token`;
    const dpop = { proof: aProof(key, { url, claims: { iat: NOW, jti: "j-1" } }), htm: "POST", htu: url };
    const bound = { family: aFamily({ cnf: { jkt: thumbprintOf(key) } }) };
    expect(await explain({ client: { ...secret, dpop }, ...refreshToken }, bound)).toMatchObject({ refusals: [], assumed: [] });
    const other = { family: aFamily({ cnf: { jkt: "another" } }) };
    expect((await explain({ client: { ...secret, dpop }, ...refreshToken }, other)).refusals).toEqual([
      ["dpop_key", "invalid_grant", "dpop_key_differs"],
    ]);
    const asked: unknown[] = [];
    const isConsumed = async (...question: unknown[]) => asked.push(question) > 0;
    const ports = ({ consumedIds }: CorePorts) => ({ consumedIds: { ...consumedIds, isConsumed } });
    expect((await explain({ client: { ...secret, dpop }, ...refreshToken }, { ...bound, ports })).refusals).toEqual([
      ["dpop_proof", "invalid_dpop_proof", "dpop_proof_used"],
    ]);
    expect(asked).toEqual([["dpop_proof", thumbprintOf(key), "j-1"]]);
  });

  test("assumes the security profile only of a client that has one", async () => {
    const fapi2 = aClient({ securityProfile: "fapi2", tokenEndpointAuthMethod: "private_key_jwt", secretHash: null });
    const assumed = ["method_registered", "security_profile", "client_proven", "dpop_proof"];
    expect(await explain(clientCredentials, { clients: [fapi2] })).toMatchObject({ refusals: [], assumed });
    const withSecret = aClient({ securityProfile: "fapi2" });
    expect((await explain({ client: secret, ...clientCredentials }, { clients: [withSecret] })).refusals).toEqual([
      ["security_profile", "invalid_client", "method_not_in_profile"],
    ]);
    const { core } = await memoryCore();
    const value = create(TokenRequestSchema, { client: secret, ...clientCredentials });
    const { rules = [] } = await core.explain(create(ExplainRequestSchema, { subject: { case: "tokenRequest", value } }), {});
    expect(rules.map(({ rule }) => rule)).not.toContain("security_profile");
  });

  test("assumes the proof of possession that a client has to send, but not one that it sends", async () => {
    const clients = [aClient({ dpopBoundAccessTokens: true })];
    expect(await explain({ client: secret, ...clientCredentials }, { clients })).toMatchObject({ refusals: [], assumed: ["dpop_proof"] });
    const dpop = { proof: "x", htm: "POST", htu: "https://x.example.test" };
    expect((await explain({ client: { ...secret, dpop }, ...clientCredentials }, { clients })).refusals).toEqual([
      ["dpop_proof", "invalid_dpop_proof", "dpop_malformed"],
    ]);
    expect((await explain({ client: secret, ...clientCredentials })).assumed).toEqual([]);
  });

  test("names the rule of a grant that is not served, and reports an outage as what it is", async () => {
    const jwtBearer = { grant: { case: "jwtBearer", value: { assertion: "a.b.c" } } } as const;
    expect((await explain({ client: secret, ...jwtBearer })).refusals).toEqual([
      ["grant_served", "unsupported_grant_type", "grant_not_served"],
    ]);
    const configured = () => Promise.reject(new Refusal("temporarily_unavailable", "database_gone"));
    const ports = ({ workloads }: CorePorts) => ({ workloads: { ...workloads, configured } });
    expect(await explain({ client: secret, ...jwtBearer }, { ports })).toEqual({ refused: ["temporarily_unavailable", "database_gone"] });
  });

  test("is refused without a grant or a subject", async () => {
    expect(await explain({})).toEqual({ refused: ["unsupported_grant_type", "grant_missing"] });
    const unread = { case: "refusedTokenExchange", value: { error: "invalid_request", reason: "x" } } as const;
    expect(await explain({ grant: unread })).toEqual({ refused: ["unsupported_grant_type", "grant_missing"] });
    const { core } = await memoryCore();
    expect(await ask(core, "explain", create(ExplainRequestSchema, {}))).toEqual(["invalid_request", "nothing_to_explain"]);
  });
});

describe("explain of a refused request", () => {
  const record: RefusedRequest = {
    clientId: "notes-app",
    grantType: "client_credentials",
    reason: "scope_not_allowed",
    rule: "scope",
    error: "invalid_scope",
    workloadIssuer: null,
    at: 999.5,
  };
  async function explainRefusal(refused: RefusedRequest | undefined, requestId = "r1") {
    const { core } = await memoryCore({
      ports: ({ audit }) => ({ audit: { ...audit, refusalOf: async (id) => (id === "r1" ? refused : undefined) } }),
    });
    return ask(core, "explain", create(ExplainRequestSchema, { subject: { case: "requestId", value: requestId } }));
  }

  test("lists the rules before the failed one as passed, and those after it as not reached", async () => {
    const answer = await explainRefusal(record);
    const { rules = [], refused } = answer as Exclude<typeof answer, readonly string[]> & { refused: object };
    expect(refused).toEqual({
      clientId: "notes-app",
      grantType: "client_credentials",
      reason: "scope_not_allowed",
      at: 999.5,
      error: "invalid_scope",
    });
    expect(rules.map(({ rule, verdict }) => [rule, verdict])).toEqual([
      ["credential", Verdict.PASSED],
      ["client_known", Verdict.PASSED],
      ["method_registered", Verdict.PASSED],
      ["client_enabled", Verdict.PASSED],
      ["client_proven", Verdict.PASSED],
      ["dpop_proof", Verdict.PASSED],
      ["grant_held", Verdict.PASSED],
      ["parameters_present", Verdict.PASSED],
      ["confidential_client", Verdict.PASSED],
      ["scope", Verdict.REFUSED],
      ["resource", Verdict.NOT_REACHED],
    ]);
    expect(rules[9]).toMatchObject({ error: "invalid_scope", reason: "scope_not_allowed" });
    expect(rules[8]).not.toHaveProperty("reason");
  });

  test("lists no rules for a record without a rule or with an unknown one", async () => {
    const old = { ...record, rule: null, error: null };
    expect(await explainRefusal(old)).toEqual({
      rules: [],
      refused: { clientId: "notes-app", grantType: "client_credentials", reason: "scope_not_allowed", at: 999.5 },
    });
    expect(await explainRefusal({ ...record, rule: "forgotten" })).toMatchObject({ rules: [] });
    expect(await explainRefusal({ ...record, grantType: "password" })).toMatchObject({ rules: [] });
    expect(await explainRefusal({ ...old, grantType: "password" })).toMatchObject({ rules: [] });
    expect(((await explainRefusal(old)) as { refused: object }).refused).not.toHaveProperty("error");
    const unnamed = await explainRefusal({ ...record, error: null });
    expect((unnamed as { rules: object[] }).rules[9]).not.toHaveProperty("error");
  });

  const CI = "https://ci.example.test";
  test.for<readonly [grantType: string, workloadIssuer: string | null, rule: string, passed: string | undefined]>([
    [JWT_BEARER, null, "assertion_signed", "assertion_form"],
    [JWT_BEARER, CI, "workload_issuer", "workload_form"],
    [JWT_BEARER, null, "workload_issuer", undefined],
    ["client_credentials", CI, "scope", "confidential_client"],
    ["client_credentials", null, "security_profile", "client_enabled"],
  ])("of %s, by a workload of %s, lists the refusing rule %s after %s", async ([grantType, workloadIssuer, rule, passed]) => {
    const answer = await explainRefusal({ ...record, grantType, rule, workloadIssuer });
    const { rules } = answer as { rules: { rule: string; verdict: Verdict }[] };
    const at = rules.findIndex(({ verdict }) => verdict === Verdict.REFUSED);
    expect([rules[at - 1]?.rule, rules[at]?.rule]).toEqual(passed === undefined ? [undefined, undefined] : [passed, rule]);
  });

  test("is refused with not_found for an unknown request id, and says why", async () => {
    expect(await explainRefusal(record, "r2")).toEqual(["not_found", "no_refusal_of_request"]);
    const { core } = await memoryCore();
    const call = core.explain(create(ExplainRequestSchema, { subject: { case: "requestId", value: "r2" } }), {});
    const description = "No refusal of a token request is on record under this id.";
    await expect(call).rejects.toMatchObject({ detail: { description } });
  });
});
