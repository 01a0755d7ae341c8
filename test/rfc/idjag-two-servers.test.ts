import { type Agent, type AgentOptions, agent, clientSecret, generateProofKey } from "@countersign/agent";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CRM, DELEGATION_CLIENTS, delegating, ID_JAG, MAIL } from "../support/delegation.ts";
import { type Answer, claimsOf, headerOf } from "../support/flow.ts";
import type { TestServer } from "../support/server.ts";
import { PROVISIONED, startServer } from "../support/server.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

type Server = ReturnType<typeof delegating<TestServer>>;
/** `home` is the users' server, `abroad` another one that the agent uses. */
let home: Server;
let abroad: Server;
beforeAll(async () => {
  const bound = DELEGATION_CLIENTS.filter(({ clientId }) => clientId === "agent-1").map((client) => ({
    ...client,
    clientId: "agent-bound",
    dpopBoundAccessTokens: true,
  }));
  const all = [...DELEGATION_CLIENTS, ...bound];
  home = delegating(await startServer({ provision: { ...PROVISIONED, clients: all } }));
  const clients = all.map((client) =>
    client.clientId === "agent-1" || client.clientId === "agent-bound"
      ? { ...client, grantTypes: [...client.grantTypes, JWT_BEARER], audience: [CRM], scopes: ["crm:read"] }
      : client,
  );
  abroad = delegating(
    await startServer({
      env: { ID_JAG_ENABLED: "true", ID_JAG_TRUSTED_ISSUERS: home.url },
      provision: { ...PROVISIONED, clients },
    }),
  );
});
afterAll(async () => {
  await home.close();
  await abroad.close();
});

const subjectFor = (scope = "openid email crm:read crm:write") =>
  home.subjectFor(["agent-1"], { resource: ["agent-1", "agent-2", "agent-bound", abroad.url, CRM], scope });
const mint = (subject: string, fields: object = {}): Promise<Answer> =>
  home.exchange("agent-1", subject, {
    requested_token_type: ID_JAG,
    audience: abroad.url,
    resource: CRM,
    scope: "crm:read email",
    ...fields,
  });
const bring = (assertion: string) => abroad.token(abroad.agent("agent-1"), { grant_type: JWT_BEARER, assertion });

const CONTACTS = { resource: CRM, scope: "crm:read" };
const agentAt = ({ url }: Server, options: Partial<AgentOptions> = {}): Agent =>
  agent({ issuer: url, clientId: "agent-1", credential: clientSecret("agent-1-secret"), ...options });

describe("identity assertions between two servers", () => {
  test("§4.7 rule 6: one server issues an identity assertion, and the other exchanges it once for an access token", async () => {
    const { subject, user } = await subjectFor();
    const minted = await mint(subject);
    expect(minted.status).toBe(200);
    expect(minted.body).toEqual({
      access_token: minted.body.access_token,
      issued_token_type: ID_JAG,
      token_type: "N_A",
      expires_in: minted.body.expires_in,
      scope: "crm:read email",
    });
    expect(minted.body.expires_in).toBeLessThanOrEqual(300);
    expect(headerOf(minted.body.access_token)).toMatchObject({ alg: "EdDSA", typ: "oauth-id-jag+jwt" });
    const claims = claimsOf(minted.body.access_token);
    expect(claims).toEqual({
      iss: home.url,
      sub: user.id,
      aud: abroad.url,
      client_id: "agent-1",
      jti: claims.jti,
      iat: claims.iat,
      exp: claims.iat + minted.body.expires_in,
      auth_time: claims.auth_time,
      scope: "crm:read email",
      resource: CRM,
      email: user.email,
      email_verified: true,
    });
    expect(await home.auditOf(minted)).toMatchObject([
      { event: "identity_assertion.issued", actor_id: "agent-1", user_id: user.id, depth: 0 },
    ]);

    const accepted = await bring(minted.body.access_token);
    expect(accepted.status).toBe(200);
    const there = claimsOf(accepted.body.access_token);
    expect(there).toMatchObject({ iss: abroad.url, aud: CRM, client_id: "agent-1", scope: "crm:read" });
    expect(there.sub).not.toBe(user.id);
    expect((await abroad.introspect(abroad.agent("crm-rs"), accepted.body.access_token)).body.active).toBe(true);
    expect(await abroad.auditOf(accepted)).toMatchObject([{ event: "token.issued", grant_type: JWT_BEARER, actor_id: "agent-1" }]);

    expect((await bring(minted.body.access_token)).body).toEqual({ error: "invalid_grant" });
    const second = await bring((await mint(subject)).body.access_token);
    expect(claimsOf(second.body.access_token).sub).toBe(there.sub);
  });

  test("aud is the issuer as the agent spells it, whether or not the subject token has its root slash", async () => {
    const { subject } = await home.subjectFor(["agent-1"], { resource: ["agent-1", `${abroad.url}/`, CRM], scope: "crm:read" });
    const minted = await mint(subject, { scope: "crm:read" });
    expect(claimsOf(minted.body.access_token).aud).toBe(abroad.url);
    expect((await bring(minted.body.access_token)).status).toBe(200);
  });

  test("the agent library carries the user from one server to the other", async () => {
    const { subject } = await subjectFor();
    const [here, there] = [agentAt(home), agentAt(abroad)];
    const crm = there.withAssertion(() => here.assertionFor(abroad.url, { token: subject, ...CONTACTS }), CONTACTS);
    expect(claimsOf((await crm.token()).value)).toMatchObject({ iss: abroad.url, aud: CRM, client_id: "agent-1", scope: "crm:read" });
  });

  test("an agent with dpop required mints with a proof, and both agents need one key; another key is named as the cause", async () => {
    const { subject } = await subjectFor();
    const carry = (here: Agent, there: Agent) =>
      there.withAssertion(() => here.assertionFor(abroad.url, { token: subject, ...CONTACTS }), CONTACTS).token();
    const bound = { dpop: "required", clientId: "agent-bound" } as const;
    const proofKey = await generateProofKey();
    expect((await carry(agentAt(home, { ...bound, proofKey }), agentAt(abroad, { ...bound, proofKey }))).scheme).toBe("DPoP");
    await expect(carry(agentAt(home, bound), agentAt(abroad, bound))).rejects.toMatchObject({
      code: "invalid_grant",
      message: expect.stringContaining("give both agents the same proofKey"),
    });
  });

  test("the actors of the subject token are carried over to the token of the other server", async () => {
    const { subject } = await subjectFor();
    const first = await home.exchange("agent-2", subject, { scope: "crm:read" });
    const minted = await mint(first.body.access_token, { scope: "crm:read" });
    expect(claimsOf(minted.body.access_token).act).toEqual({ sub: "agent-2" });
    const accepted = await bring(minted.body.access_token);
    expect(claimsOf(accepted.body.access_token).act).toEqual({ sub: "agent-2" });
    const { body } = await abroad.introspect(abroad.agent("crm-rs"), accepted.body.access_token);
    expect(body).toMatchObject({ active: true, act: { sub: "agent-2" } });
  });

  test("rule 7: a fifth actor gets no assertion, and the assertion of the fourth names the three before it", async () => {
    const agents = ["agent-2", "agent-3", "agent-4", "agent-5"];
    const { subject } = await home.subjectFor(["agent-1", ...agents], {
      resource: ["agent-1", ...agents, abroad.url, CRM],
      scope: "crm:read",
    });
    const tokens = [subject];
    for (const agent of agents) tokens.push((await home.exchange(agent, tokens.at(-1) ?? "")).body.access_token);
    const [third = "", fourth = ""] = tokens.slice(-2);
    const minted = await mint(third, { scope: "crm:read" });
    expect(claimsOf(minted.body.access_token).act).toEqual({ sub: "agent-4", act: { sub: "agent-3", act: { sub: "agent-2" } } });
    const fifth = await mint(fourth, { scope: "crm:read" });
    expect([fifth.status, fifth.body.error, fifth.body.access_token]).toEqual([400, "invalid_request", undefined]);
    expect(await home.auditOf(fifth)).toMatchObject([{ event: "token.refused", reason: "too_many_actors", depth: 5 }]);
  });

  test("an assertion is accepted neither as an access token nor by the server that issued it", async () => {
    const { subject } = await subjectFor();
    const { access_token: assertion } = (await mint(subject)).body;
    const exchanged = await home.exchange("agent-1", assertion);
    expect([exchanged.status, exchanged.body.error]).toEqual([400, "invalid_request"]);
    expect((await home.introspect(home.agent("agent-1"), assertion)).body).toEqual({ active: false });
    expect((await home.userinfo(assertion)).status).toBe(401);
    const own = await home.token(home.agent("agent-1"), { grant_type: JWT_BEARER, assertion });
    expect(own.body.error).toBe("unsupported_grant_type");
  });

  test("an access token is not accepted as an assertion", async () => {
    const { subject } = await subjectFor();
    expect((await bring(subject)).body).toEqual({ error: "invalid_grant" });
  });

  test.for([
    ["no audience", { audience: undefined }, "invalid_request"],
    ["two audiences", { audience: ["https://a.example.test", "https://b.example.test"] }, "invalid_request"],
    ["authorization_details", { authorization_details: "[]" }, "invalid_request"],
    ["an audience outside the subject token's", { audience: "https://other.example.test" }, "invalid_target"],
    ["a client as audience", { audience: "agent-2" }, "invalid_target"],
    ["a resource outside the subject token's", { resource: MAIL }, "invalid_target"],
    ["a wider scope", { scope: "crm:admin" }, "invalid_scope"],
  ] as const)("a request for an assertion with %s is refused", async ([, fields, error]) => {
    const { subject } = await subjectFor();
    const answer = await mint(subject, fields);
    expect([answer.status, answer.body.error, answer.body.access_token]).toEqual([400, error, undefined]);
  });
});
