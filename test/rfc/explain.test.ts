import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AdminClient, createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { registerExplainCommand } from "../../src/cli/explain.ts";
import { adminAs, refusedWith } from "../support/admin.ts";
import { ASSERTION_TYPE, anAssertion, keyFor } from "../support/assertions.ts";
import { runText } from "../support/database.ts";
import { ACCESS_TOKEN, CRM, DELEGATION_CLIENTS, delegating, ID_JAG, MAIL, TOKEN_EXCHANGE } from "../support/delegation.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { basicAuth, type TestClient } from "../support/flow.ts";
import { type IdentityIssuer, identityIssuer } from "../support/identity-issuer.ts";
import { OPERATOR, PROVISIONED, startServer, type TestServer } from "../support/server.ts";
import { aTerminal, type TestTerminal } from "../support/terminal.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const key = keyFor("EdDSA", "k1");
const desk = {
  clientId: "desk",
  clientSecret: "desk-secret",
  name: "Desk",
  tokenEndpointAuthMethod: "client_secret_basic",
  grantTypes: [JWT_BEARER],
  scopes: ["crm:read"],
  audience: [CRM],
};
const robot = {
  clientId: "robot",
  name: "Robot",
  tokenEndpointAuthMethod: "private_key_jwt",
  grantTypes: ["client_credentials"],
  scopes: ["notes:read"],
  jwks: { keys: [key.jwk] },
};

let issuer: IdentityIssuer;
let server: TestServer & ReturnType<typeof delegating<TestServer>>;
let admin: AdminClient;
let operator: TestTerminal;
beforeAll(async () => {
  issuer = await identityIssuer();
  const started = await startServer({
    env: { ID_JAG_ENABLED: "true", ID_JAG_TRUSTED_ISSUERS: issuer.url, ID_JAG_MAX_ASSERTION_LIFETIME: "200" },
    provision: { ...PROVISIONED, clients: [...DELEGATION_CLIENTS, desk, robot] },
  });
  server = { ...started, ...delegating(started) };
  admin = (await adminAs(server.url)).admin;
  operator = aTerminal({ serverUrl: server.url, ...OPERATOR });
});
afterAll(async () => {
  await server.close();
  await issuer.close();
  operator.leave();
});

type Fields = Record<string, string | string[]>;
const explain = (client: TestClient, fields: Fields, authorization?: string) =>
  admin.operator.explain.tokenRequest.mutate({
    parameters: { client_id: client.clientId, ...fields },
    ...(authorization !== undefined && { authorization }),
  });
type Explained = Awaited<ReturnType<typeof explain>>;
const refusedBy = ({ rules }: Explained) => {
  const { rule, error, reason } = rules.find(({ verdict }) => verdict === "refused") ?? {};
  return [rule, error, reason];
};
const verdicts = ({ rules }: Explained) => [...new Set(rules.map(({ verdict }) => verdict))];
/** Row counts of the tables that a token request may write to. */
const rowCounts = async () =>
  (
    await runText<object>(
      server.database.sql,
      `select (select count(*)::int from audit_records) as audit, (select count(*)::int from grants) as grants,
         (select count(*)::int from refresh_tokens) as tokens, (select count(*)::int from consumed_ids) as ids,
         (select count(*)::int from delegations) as delegations, (select count(*)::int from users) as users,
         (select count(*)::int from revocations) as revocations`,
    )
  )[0];
const fieldsOf = (code: { grant_type: string; code: string; redirect_uri: string; code_verifier: string | undefined }): Fields => ({
  ...code,
  code_verifier: code.code_verifier ?? "",
});

describe("a dry run of a token request returns the result of the token endpoint and writes nothing", () => {
  test("authorization_code: explaining leaves the code valid, and explaining a redeemed code reports the replay without revoking the family", async () => {
    const { web } = server.clients;
    const user = await server.signedInUser();
    const code = fieldsOf(await server.code(web, user.browser, { scope: "openid crm:read", resource: CRM }));
    const before = await rowCounts();
    for (let round = 0; round < 2; round++) {
      const explained = await explain(web, code);
      expect(explained.granted).toMatchObject({ sub: user.id, scope: "openid crm:read", aud: [CRM], refreshToken: true, idToken: true });
      expect(verdicts(explained)).toEqual(["passed", "taken_for_granted"]);
    }
    expect(await rowCounts()).toEqual(before);
    const tokens = await server.token(web, code);
    expect(tokens.status).toBe(200);
    expect(refusedBy(await explain(web, code))).toEqual(["code_unused", "invalid_grant", "code_replayed"]);
    expect((await server.refresh(web, tokens.body.refresh_token)).status).toBe(200);
  });

  test("RFC 9449: a proof that is given is checked and stays unused", async () => {
    const { web } = server.clients;
    const [key, url] = [proofKey(), `${server.url}/oauth/token`];
    const { browser } = await server.signedInUser();
    const code = fieldsOf(await server.code(web, browser, { scope: "crm:read", dpop_jkt: thumbprintOf(key) }));
    const withProof = (dpop: string) =>
      admin.operator.explain.tokenRequest.mutate({ parameters: { client_id: web.clientId, ...code }, dpop });
    const proof = aProof(key, { url });
    expect((await explain(web, code)).granted).toMatchObject({ scope: "crm:read" });
    expect(refusedBy(await withProof("x"))).toEqual(["dpop_proof", "invalid_dpop_proof", "dpop_malformed"]);
    expect(refusedBy(await withProof(aProof(proofKey(), { url })))).toEqual(["dpop_key", "invalid_grant", "dpop_key_differs"]);
    expect((await withProof(proof)).granted).toMatchObject({ scope: "crm:read" });
    const words = Object.entries({ client_id: web.clientId, ...code }).map(([name, value]) => `${name}=${value}`);
    expect(await operator.run([registerExplainCommand], ["explain", ...words, "--dpop", proof])).toMatchObject({
      out: expect.stringContaining("Would be granted"),
    });
    const headers = { authorization: basicAuth(web.clientId, web.secret ?? ""), dpop: proof };
    expect((await server.form("/oauth/token", code, headers)).body.token_type).toBe("DPoP");
    expect(refusedBy(await withProof(proof))).toEqual(["dpop_proof", "invalid_dpop_proof", "dpop_proof_used"]);
  });

  test("refresh_token: the explained token stays current, and explaining a used token does not revoke the family", async () => {
    const { web } = server.clients;
    const { refresh_token: first } = await server.tokens(web, (await server.signedInUser()).browser, { scope: "crm:read crm:write" });
    const fields = { grant_type: "refresh_token", refresh_token: first };
    expect((await explain(web, { ...fields, scope: "crm:read" })).granted).toMatchObject({ scope: "crm:read", refreshToken: true });
    const { body } = await server.refresh(web, first);
    expect(refusedBy(await explain(web, fields))).toEqual(["refresh_token_unused", "invalid_grant", "refresh_token_replayed"]);
    expect((await server.refresh(web, body.refresh_token)).status).toBe(200);
  });

  test("token exchange: returns scope, audience, actors and lifetime of the token that would be issued", async () => {
    const { subject, user } = await server.subjectFor(["agent-1"]);
    const fields = {
      grant_type: TOKEN_EXCHANGE,
      subject_token: subject,
      subject_token_type: ACCESS_TOKEN,
      scope: "crm:read",
      resource: CRM,
    };
    const before = await rowCounts();
    const { granted, rules } = await explain(server.agent("agent-1"), fields);
    expect(granted).toMatchObject({ sub: user.id, scope: "crm:read", aud: [CRM], actors: ["agent-1"], refreshToken: false });
    const assertion = { ...fields, requested_token_type: ID_JAG, audience: MAIL };
    expect((await explain(server.agent("agent-1"), assertion)).granted).toMatchObject({ scope: "crm:read", aud: [MAIL], actors: [] });
    expect(granted?.expiresIn).toBeLessThanOrEqual(900);
    expect(rules.map(({ source }) => source)).toContain("docs/protocol.md#token-exchange");
    expect(await rowCounts()).toEqual(before);
  });

  test("jwt-bearer: the explained assertion can still be used once, and no user is created", async () => {
    const assertion = issuer.assertion(server.url, "desk", { sub: "explained" });
    const fields = { grant_type: JWT_BEARER, assertion };
    const as = { clientId: "desk", redirectUri: "", secret: "desk-secret" };
    const before = await rowCounts();
    expect((await explain(as, fields)).granted).toMatchObject({ scope: "crm:read", aud: [CRM] });
    expect(await rowCounts()).toEqual(before);
    expect((await server.token(as, fields)).status).toBe(200);
    expect(refusedBy(await explain(as, fields))).toEqual(["assertion_unused", "invalid_grant", "assertion_replayed"]);
    const malformed = { ...fields, assertion: issuer.assertion(server.url, "desk"), scope: 'no"scope' };
    expect(refusedBy(await explain(as, malformed))).toEqual(["scope", "invalid_grant", "scope_malformed"]);
  });

  test("private_key_jwt: the explained client assertion is verified but not consumed", async () => {
    const client_assertion = anAssertion(key, { clientId: "robot", audience: server.url, now: Math.floor(Date.now() / 1000) });
    const fields = {
      grant_type: "client_credentials",
      scope: "notes:read",
      client_assertion,
      client_assertion_type: ASSERTION_TYPE,
    };
    const as = { clientId: "robot", redirectUri: "" };
    expect(verdicts(await explain(as, fields))).toEqual(["passed"]);
    expect((await server.form("/oauth/token", fields)).status).toBe(200);
    expect(refusedBy(await explain(as, fields))).toEqual(["client_proven", "invalid_client", "assertion_used_before"]);
  });

  test("a client secret is verified if it is sent, and otherwise reported as taken_for_granted", async () => {
    const { worker } = server.clients;
    const fields = { grant_type: "client_credentials", scope: "notes:read" };
    const without = await explain(worker, fields);
    expect(without.rules.filter(({ verdict }) => verdict === "taken_for_granted").map(({ rule }) => rule)).toEqual([
      "method_registered",
      "client_proven",
    ]);
    expect(verdicts(await explain(worker, fields, basicAuth("worker", "worker-secret")))).toEqual(["passed"]);
    const wrong = await explain(worker, fields, basicAuth("worker", "wrong"));
    expect(refusedBy(wrong)).toEqual(["client_proven", "invalid_client", "wrong_secret"]);
    expect(wrong.rules.filter(({ verdict }) => verdict === "not_reached").map(({ rule }) => rule)).toEqual([
      "dpop_proof",
      "grant_held",
      "parameters_present",
      "confidential_client",
      "scope",
      "resource",
    ]);
    expect(refusedBy(await explain({ clientId: "unknown", redirectUri: "" }, fields))).toEqual([
      "client_known",
      "invalid_client",
      "client_unknown",
    ]);
  });
});

/** Refused requests, each with the rule that refuses it. */
const REFUSED: readonly (readonly [string, string, Fields, string])[] = [
  ["client_credentials with a scope that is not allowed", "worker", { grant_type: "client_credentials", scope: "crm:admin" }, "scope"],
  [
    "client_credentials with a resource that is not allowed",
    "worker",
    { grant_type: "client_credentials", scope: "notes:read", resource: CRM },
    "resource",
  ],
  ["authorization_code by a client without that grant", "worker", { grant_type: "authorization_code", code: "x" }, "grant_held"],
  ["authorization_code without a code", "web", { grant_type: "authorization_code" }, "parameters_present"],
  [
    "authorization_code with an unknown code",
    "web",
    { grant_type: "authorization_code", code: "x", redirect_uri: "https://app.example.test/cb", code_verifier: "v".repeat(43) },
    "code_known",
  ],
  ["refresh_token with an unknown token", "web", { grant_type: "refresh_token", refresh_token: "0".repeat(64) }, "refresh_token_known"],
  ["token exchange by a client that is not an agent", "not-agent", { grant_type: TOKEN_EXCHANGE }, "agent"],
  [
    "token exchange of a malformed token",
    "agent-1",
    { grant_type: TOKEN_EXCHANGE, subject_token: "a.b.c", subject_token_type: ACCESS_TOKEN },
    "subject_token_issued_here",
  ],
  ["jwt-bearer with a malformed assertion", "desk", { grant_type: JWT_BEARER, assertion: "a.b.c" }, "assertion_form"],
];

describe("explaining a past refusal by its request id", () => {
  test.for(REFUSED)(
    "%s: returns the rules and verdicts of the dry run, and the response contains no reason",
    async ([, clientId, fields, rule]) => {
      const client = { clientId, redirectUri: "", secret: `${clientId}-secret` };
      const dry = await explain(client, fields, basicAuth(clientId, client.secret));
      const answer = await server.token(client, fields);
      const past = await admin.operator.explain.refusal.query({ requestId: answer.headers.get("x-request-id") ?? "" });
      expect(past.rules).toEqual(dry.rules);
      expect(past.refused).toMatchObject({ clientId, grantType: fields.grant_type, error: answer.body.error });
      expect(refusedBy(past).slice(0, 2)).toEqual([rule, answer.body.error]);
      expect(past.granted).toBeUndefined();
      expect(JSON.stringify([answer.body, [...answer.headers]])).not.toContain(String(past.refused?.reason));
    },
  );

  test("a paused agent is explained to operators as agent_paused, and the response says only unauthorized_client", async () => {
    const { subject } = await server.subjectFor(["agent-1"]);
    await admin.operator.agents.pause.mutate({ clientId: "agent-1" });
    const fields = { grant_type: TOKEN_EXCHANGE, subject_token: subject, subject_token_type: ACCESS_TOKEN };
    const dry = await explain(server.agent("agent-1"), fields);
    const answer = await server.exchange("agent-1", subject);
    await admin.operator.agents.resume.mutate({ clientId: "agent-1" });
    const past = await admin.operator.explain.refusal.query({ requestId: answer.headers.get("x-request-id") ?? "" });
    for (const explained of [dry, past]) expect(refusedBy(explained)).toEqual(["agent_not_paused", "unauthorized_client", "agent_paused"]);
    expect(answer.body).toEqual({ error: "unauthorized_client" });
    expect((await explain(server.agent("agent-1"), fields)).granted).toMatchObject({ actors: ["agent-1"] });
  });

  test("a replayed code is explained as code_replayed", async () => {
    const { web } = server.clients;
    const code = await server.code(web, (await server.signedInUser()).browser);
    await server.token(web, code);
    const replay = await server.token(web, code);
    const past = await admin.operator.explain.refusal.query({ requestId: replay.headers.get("x-request-id") ?? "" });
    expect(refusedBy(past)).toEqual(["code_unused", "invalid_grant", "code_replayed"]);
  });

  test("an unknown request id and the id of a granted request return not_found", async () => {
    const granted = await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" });
    for (const requestId of ["no-such-request", granted.headers.get("x-request-id") ?? ""]) {
      expect(await refusedWith(admin.operator.explain.refusal.query({ requestId }))).toMatchObject({ error: "not_found", httpStatus: 404 });
    }
  });
});

test("explain refuses developers and malformed requests", async () => {
  const user = await server.signedInUser();
  const developer = createAdminClient({ url: server.url, token: user.login.access_token });
  const parameters = { grant_type: "client_credentials", client_id: "worker" };
  expect(await refusedWith(developer.operator.explain.tokenRequest.mutate({ parameters }))).toMatchObject({ error: "forbidden" });
  expect(await refusedWith(developer.operator.explain.refusal.query({ requestId: "x" }))).toMatchObject({ error: "forbidden" });
  const { tokenRequest } = admin.operator.explain;
  expect(await refusedWith(tokenRequest.mutate({ parameters, authorization: "Bearer x" }))).toMatchObject({ error: "invalid_request" });
  expect(await refusedWith(tokenRequest.mutate({ parameters: { grant_type: "password" } }))).toMatchObject({
    error: "unsupported_grant_type",
  });
  expect(await refusedWith(tokenRequest.mutate({ parameters: { ...parameters, scope: ["a", "b"] } }))).toMatchObject({
    error: "invalid_request",
  });
});

describe("countersign explain", () => {
  const run = (...words: string[]) => operator.run([registerExplainCommand], ["explain", ...words]);

  test("names what it takes, and where examples are, without parameters and with two ways to name a request", async () => {
    for (const words of [[], ["grant_type=client_credentials", "--request", "x"]])
      expect(await run(...words)).toMatchObject({
        code: 1,
        err: "Name either the parameters of a token or authorization request, or --request. `countersign explain --help` has examples.\n",
      });
  });

  test("prints the rules in order and the refusing rule, and reads parameters from files", async () => {
    const file = join(operator.home, "token");
    writeFileSync(file, `${"0".repeat(64)}\n`);
    const { out, code } = await run("grant_type=refresh_token", "client_id=web", `refresh_token=@${file}`);
    expect(code).toBe(0);
    expect(out).toMatch(/^RULE +VERDICT +SOURCE\ncredential +passed /);
    expect(out).toMatch(/\nclient_proven +taken for granted /);
    expect(out).toMatch(/\nrefresh_token_known +refused +RFC 6749 §6\nrefresh_token_of_client +not reached /);
    expect(out).toContain(
      "Refused by refresh_token_known: invalid_grant (refresh_token_unknown)\nIt requires: The refresh token is one that was issued.\n",
    );
    const form = join(operator.home, "form");
    writeFileSync(form, "grant_type=client_credentials&client_id=worker&scope=notes%3Aread\n");
    expect((await run("--form", form)).out).toMatch(/Would be granted:\nsub +worker\nscope +notes:read\n/);
    const asJson = JSON.parse((await run("--form", form, "--json", "--authorization", basicAuth("worker", "no"))).out);
    expect(refusedBy(asJson)).toEqual(["client_proven", "invalid_client", "wrong_secret"]);
  });

  test("explains a past refusal, and exits with 4 if there is none", async () => {
    const answer = await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "crm:admin" });
    const { out } = await run("--request", answer.headers.get("x-request-id") ?? "", "--demands");
    expect(out).toMatch(/^at +\d{4}-.*\nclient +worker\ngrant +client_credentials\n\nRULE +VERDICT +DEMAND +SOURCE\n/);
    expect(out).toMatch(/\n\nRefused by scope: invalid_scope \(scope_not_allowed\)\nIt requires: [^\n]+\n$/);
    expect(await run("--request", "none")).toMatchObject({ code: 4, err: expect.stringContaining("No refusal") });
    for (const option of ["--authorization", "--dpop"])
      expect(await run("--request", "none", option, "Basic secret")).toMatchObject({ code: 1, err: expect.not.stringContaining("secret") });
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining("Name either") });
  });
});
