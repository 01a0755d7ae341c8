import { type AdminClient, createAdminClient } from "@countersign/admin";
import { describe, expect, onTestFinished } from "vitest";
import { registerAgentCommands, registerDelegationCommands } from "../../src/cli/delegations.ts";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { anAudit } from "../support/accounts.ts";
import { adminAs, refusedWith } from "../support/admin.ts";
import { runText } from "../support/database.ts";
import { CRM, type delegating, MAIL, test } from "../support/delegation.ts";
import { claimsOf } from "../support/flow.ts";
import { OPERATOR, type TestServer } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

type Server = ReturnType<typeof delegating<TestServer>>;

/** A user with a chain of three agents, all with openid. */
async function aChain(server: Server, admin: AdminClient) {
  const agents = ["agent-1", "agent-2", "agent-3"];
  const { user, tokens, subject } = await server.subjectFor(agents);
  const accessTokens = [subject];
  for (const agent of agents)
    accessTokens.push((await server.exchange(agent, accessTokens.at(-1)!, { scope: "openid crm:read" })).body.access_token);
  const { delegations } = await admin.operator.delegations.list.query({ userId: user.id });
  const [first, second, third] = delegations.toSorted((a, b) => a.chain.length - b.chain.length); // their order is random within a second
  if (first === undefined || second === undefined || third === undefined) throw new Error("no three delegations");
  return { user, refreshToken: tokens.refresh_token as string, accessTokens, deep: accessTokens.at(-1)!, first, second, third };
}

/** The results of a delegated token at introspection over HTTP and gRPC, userinfo and the next exchange. */
async function resultsOf(server: Server, token: string) {
  const [http, grpc, userinfo, exchange] = await Promise.all([
    server.active(token),
    server.introspectOverGrpc("crm-rs", token),
    server.userinfo(token),
    server.exchange("agent-3", token, { scope: "crm:read" }),
  ]);
  return [http, (grpc as { active: boolean }).active, userinfo.status, exchange.status === 200 ? 200 : exchange.body.error];
}
const GOOD = [true, true, 200, 200];
const ENDED = [false, false, 401, "invalid_request"];

const refused = async (call: Promise<unknown>) => (await refusedWith(call))?.error;

describe("procedures for operators", () => {
  test("tree returns the user, application, agents, scopes, audience and expiry of each delegation", async ({ server }) => {
    const { admin } = await adminAs(server.url);
    const { user, accessTokens, first, second, third } = await aChain(server, admin);
    const { root, delegations, complete } = await admin.operator.delegations.tree.query({ grantId: first.grantId });
    expect(root).toMatchObject({ userId: user.id, email: user.email, application: { clientId: "web", name: "web" }, ended: null });
    expect(root.scopes).toEqual(["openid", "crm:read", "crm:write"]);
    expect([delegations.map(({ id }) => id), complete]).toEqual([[first.id, second.id, third.id], true]);
    expect(delegations[2]).toEqual({
      id: third.id,
      kind: "access_token",
      jti: claimsOf(accessTokens[3]!).jti,
      parentId: second.id,
      grantId: root.id,
      userId: user.id,
      email: user.email,
      application: { clientId: "web", name: "web" },
      agent: { clientId: "agent-3", name: "agent-3" },
      chain: ["agent-1", "agent-2", "agent-3"],
      scopes: ["openid", "crm:read"],
      audience: [CRM, MAIL, "agent-1", "agent-2", "agent-3"],
      issuedAt: expect.any(Number),
      expiresAt: claimsOf(accessTokens[3]!).exp * 1000,
      ended: null,
    });
  });

  test("list filters by user, agent, grant and liveness, and continues from its cursor", async ({ server }) => {
    const { admin } = await adminAs(server.url);
    const { user, first, second, third } = await aChain(server, admin);
    const { list, cut } = admin.operator.delegations;
    await cut.mutate({ kind: "delegation", id: second.id });
    const ids = async (filter: Parameters<typeof list.query>[0]) => (await list.query(filter)).delegations.map(({ id }) => id);
    expect(await ids({ userId: user.id, live: true })).toEqual([first.id]);
    expect((await ids({ grantId: first.grantId, live: false })).sort()).toEqual([second.id, third.id].sort());
    expect(await ids({ grantId: first.grantId, agent: "agent-3" })).toEqual([third.id]);
    const page = await list.query({ userId: user.id, limit: 2 });
    const others = await ids({ userId: user.id, limit: 2, cursor: page.nextCursor! });
    expect([...page.delegations.map(({ id }) => id), ...others]).toEqual(await ids({ userId: user.id }));
    expect([page.delegations.length, others.length]).toEqual([2, 1]);
  });

  test("every procedure returns forbidden to other users and not_found for unknown ids", async ({ server }) => {
    const { admin } = await adminAs(server.url);
    const { user, first } = await aChain(server, admin);
    const own = createAdminClient({ url: server.url, token: user.login.access_token }).operator;
    const forbidden = [
      own.delegations.list.query({}),
      own.delegations.tree.query({ grantId: first.grantId }),
      own.delegations.cut.mutate({ kind: "grant", id: first.grantId }),
      own.agents.pause.mutate({ clientId: "agent-1" }),
      own.agents.resume.mutate({ clientId: "agent-1" }),
      own.agents.pauses.query({}),
    ].map(refused);
    expect(new Set(await Promise.all(forbidden))).toEqual(new Set(["forbidden"]));
    const wrongId = user.id;
    const { delegations, agents } = admin.operator;
    const unknown = [
      delegations.tree.query({ grantId: wrongId }),
      delegations.cut.mutate({ kind: "delegation", id: wrongId }),
      delegations.cut.mutate({ kind: "grant", id: wrongId }),
      delegations.cut.mutate({ kind: "agent", clientId: "unknown" }),
      agents.pause.mutate({ clientId: "unknown" }),
      agents.pause.mutate({ clientId: "not-agent" }),
    ].map(refused);
    expect(new Set(await Promise.all(unknown))).toEqual(new Set(["not_found"]));
    expect(await refused(delegations.cut.mutate({ kind: "delegation", id: "x" }))).toBe("invalid_request");
    expect(await refused(delegations.list.query({ agent: "\0" }))).toBe("invalid_request");
  });
});

describe("docs/protocol.md#delegations: a cut", () => {
  test("of a delegation revokes it and all below it, and nothing above", async ({ server }) => {
    const { admin, id: operator } = await adminAs(server.url);
    const { accessTokens, deep, first, second } = await aChain(server, admin);
    expect(await resultsOf(server, deep)).toEqual(GOOD);
    expect(await admin.operator.delegations.cut.mutate({ kind: "delegation", id: second.id })).toEqual({ ended: 1 });
    expect(await admin.operator.delegations.cut.mutate({ kind: "delegation", id: second.id })).toEqual({ ended: 0 });
    expect(await resultsOf(server, deep)).toEqual(ENDED);
    expect(await server.active(accessTokens[1]!)).toBe(true);
    const { delegations } = await admin.operator.delegations.tree.query({ grantId: first.grantId });
    expect(delegations.slice(0, 3).map(({ ended }) => ended)).toEqual([
      null,
      { reason: "cut", at: expect.any(Number), by: { type: "user", id: operator } },
      { reason: "ended_above", at: null, by: null },
    ]);
    const { records } = await admin.operator.audit.list.query({ event: "delegation.cut", grantId: first.grantId });
    expect(records).toMatchObject([{ actor: { type: "user", id: operator }, jti: second.jti, clientId: "agent-2" }]);
  });

  test("of an agent for one user revokes its delegations for that user only, and later exchanges succeed", async ({ server }) => {
    const { admin } = await adminAs(server.url);
    const [mine, theirs] = [await aChain(server, admin), await aChain(server, admin)];
    expect(await admin.operator.delegations.cut.mutate({ kind: "agent", clientId: "agent-2", userId: mine.user.id })).toEqual({
      ended: 1,
    });
    expect(await resultsOf(server, mine.deep)).toEqual(ENDED);
    expect(await server.active(theirs.deep)).toBe(true);
    expect((await server.exchange("agent-2", mine.accessTokens[1]!)).status).toBe(200);
  });

  test("of the root grant revokes its delegations and the application's own tokens", async ({ server }) => {
    const { admin } = await adminAs(server.url);
    const { accessTokens, refreshToken, deep, first } = await aChain(server, admin);
    expect(await admin.operator.delegations.cut.mutate({ kind: "grant", id: first.grantId })).toEqual({ ended: 1 });
    expect(await resultsOf(server, deep)).toEqual(ENDED);
    expect(await server.active(accessTokens[0]!)).toBe(false);
    expect((await server.refresh(server.agent("web"), refreshToken)).body).toEqual({ error: "invalid_grant" });
    expect((await admin.operator.delegations.tree.query({ grantId: first.grantId })).root.ended?.reason).toBe("grant_ended");
  });
});

describe("a paused agent", () => {
  test("is refused exchanges, and its tokens and all below are inactive until it is resumed", async ({ server }) => {
    const { admin, id: operator } = await adminAs(server.url);
    const { accessTokens, deep, second } = await aChain(server, admin);
    const { agents } = admin.operator;
    onTestFinished(() => agents.resume.mutate({ clientId: "agent-2" }).then(() => undefined));
    expect([await agents.pause.mutate({ clientId: "agent-2" }), await agents.pause.mutate({ clientId: "agent-2" })]).toEqual([
      { changed: true },
      { changed: false },
    ]);
    for (const token of [accessTokens[2]!, deep]) expect(await resultsOf(server, token)).toEqual(ENDED);
    const refusal = await server.exchange("agent-2", accessTokens[1]!);
    expect([refusal.status, refusal.body]).toEqual([400, { error: "unauthorized_client" }]);
    expect(await server.auditOf(refusal)).toMatchObject([
      { event: "token.refused", reason: "agent_paused", actor_id: "agent-2", depth: 2 },
    ]);
    expect(await server.active(accessTokens[1]!)).toBe(true);
    // A token for itself is not refused.
    const own = await server.token(server.agent("agent-2"), { grant_type: "client_credentials", scope: "crm:read" });
    expect(own.status).toBe(200);
    expect((await agents.pauses.query({ agent: "agent-2" })).pauses).toMatchObject([
      { agent: { clientId: "agent-2" }, userId: null, by: { type: "user", id: operator } },
    ]);
    const { delegations } = await admin.operator.delegations.list.query({ grantId: second.grantId, agent: "agent-2" });
    expect(delegations[0]?.ended?.reason).toBe("agent_paused");

    expect([await agents.resume.mutate({ clientId: "agent-2" }), await agents.resume.mutate({ clientId: "agent-2" })]).toEqual([
      { changed: true },
      { changed: false },
    ]);
    expect(await resultsOf(server, deep)).toEqual(GOOD);
    expect((await server.exchange("agent-2", accessTokens[1]!)).status).toBe(200);
    const records = await Promise.all(
      (["agent.paused", "agent.resumed"] as const).map((event) => admin.operator.audit.list.query({ event, clientId: "agent-2" })),
    );
    expect(records.map((page) => page.records.length)).toEqual([1, 1]);
  });

  test("neither gets nor uses tokens of users who have signed in to it", async ({ server }) => {
    const { operator } = (await adminAs(server.url)).admin;
    const agent = { clientId: "assistant", redirectUri: "https://app.example.test/cb" };
    const { clientSecret: secret } = await operator.clients.create.mutate({
      ...{ name: "Assistant", clientId: agent.clientId, redirectUris: [agent.redirectUri], scopes: ["openid", "crm:read"], isAgent: true },
      ...{ grantTypes: ["authorization_code", "refresh_token"], tokenEndpointAuthMethod: "client_secret_basic" },
    });
    const assistant = { ...agent, secret: secret ?? "" };
    const { browser } = await server.signedInUser();
    const access = { scope: "openid crm:read", resource: [CRM, "agent-3"] };
    const tokens = await server.tokens(assistant, browser, access);
    const code = await server.code(assistant, browser, access);
    await operator.agents.pause.mutate({ clientId: agent.clientId });
    expect(await resultsOf(server, tokens.access_token)).toEqual(ENDED);
    const uses = () => Promise.all([server.refresh(assistant, tokens.refresh_token), server.token(assistant, code)]);
    for (const refusal of await uses()) expect([refusal.status, refusal.body]).toEqual([400, { error: "unauthorized_client" }]);
    await operator.agents.resume.mutate({ clientId: agent.clientId });
    expect(await resultsOf(server, tokens.access_token)).toEqual(GOOD);
    expect((await uses()).map(({ status }) => status)).toEqual([200, 200]);
  });

  test("does not get back a delegation that was cut during the pause", async ({ server }) => {
    const { admin } = await adminAs(server.url);
    const { accessTokens, second } = await aChain(server, admin);
    await admin.operator.agents.pause.mutate({ clientId: "agent-2" });
    await admin.operator.delegations.cut.mutate({ kind: "delegation", id: second.id });
    await admin.operator.agents.resume.mutate({ clientId: "agent-2" });
    expect(await resultsOf(server, accessTokens[2]!)).toEqual(ENDED);
  });
});

describe("countersign delegations and countersign agents", () => {
  async function run(server: Server, ...words: string[]) {
    const { run, leave } = aTerminal({ serverUrl: server.url, ...OPERATOR });
    onTestFinished(leave);
    return run([registerDelegationCommands, registerAgentCommands], words);
  }

  test("list, show and cut delegations", async ({ server }) => {
    const { admin, id: operator } = await adminAs(server.url);
    const { user, first, second } = await aChain(server, admin);
    const name = (to: string) => runText(server.database.sql, "update clients set name = $1 where client_id = 'agent-2'", [to]);
    await name("Researcher");
    onTestFinished(() => void name("agent-2"));
    const listed = await run(server, "delegations", "list", "--user", user.email, "--live");
    expect(listed.out.split("\n")[0]).toMatch(/^ID +GRANT +USER +APPLICATION +AGENTS +SCOPES +AUDIENCE +UNTIL +ENDED +NAMES$/);
    expect(listed.out).toMatch(
      new RegExp(
        `^${second.id} +${second.grantId} +${user.email} +web +agent-1 > agent-2 +openid crm:read .* web > agent-1 > Researcher$`,
        "m",
      ),
    );
    expect(await run(server, "delegations", "cut", second.id)).toEqual({ out: "ended: 1\n", err: "", code: 0 });
    const { out } = await run(server, "delegations", "show", first.grantId);
    expect(out).toMatch(new RegExp(`^user +${user.email} \\(${user.id}\\)$`, "m"));
    expect(out).toMatch(new RegExp(`^ {2}agent-2 +${second.id} +token .* cut at \\S+ by user ${operator} +Researcher$`, "m"));
    expect(out).toMatch(/^ {4}agent-3 .* ended_above +agent-3$/m);
    const ended = JSON.parse((await run(server, "delegations", "list", "--grant", first.grantId, "--ended", "--json")).out);
    expect(ended).toHaveLength(2);
    expect(ended).toMatchObject([
      { userId: user.id, email: user.email },
      { userId: user.id, email: user.email },
    ]);
    expect((await run(server, "delegations", "cut", "--agent", "agent-1", "--user", user.email)).out).toBe("ended: 1\n");
    expect((await run(server, "delegations", "cut", "--grant", first.grantId, "--json")).out).toBe('{\n  "ended": 1\n}\n');
  });

  test("pause and resume agents, and list pauses", async ({ server }) => {
    expect((await run(server, "agents", "pause", "agent-5")).out).toBe("paused\n");
    expect((await run(server, "agents", "pause", "agent-5")).out).toBe("was already paused\n");
    expect((await run(server, "agents", "pauses")).out).toMatch(/^agent-5 +all users +\S+Z +user \S+ +agent-5$/m);
    expect((await run(server, "agents", "resume", "agent-5")).out).toBe("resumed\n");
    expect((await run(server, "agents", "resume", "agent-5")).out).toBe("was not paused by operators\n");
    expect((await run(server, "agents", "pauses", "--json")).out).toBe("[]\n");
    expect(await run(server, "agents", "pause", "unknown")).toMatchObject({
      err: expect.stringMatching(/^Not found at http\S+: unknown\.\n$/),
      code: 4,
    });
  });

  test("resume names the users who still pause the agent, since only they can resume it", async ({ server }) => {
    const users = [await server.signedInUser(), await server.signedInUser()] as const;
    const pauses = agentPauses(server.database.sql);
    const owners = users.map(({ id }) => ({ kind: "user", userId: id }) as const);
    const stays = (whom: string) => `still paused by ${whom} alone can resume it, at /account/agents`;
    onTestFinished(async () => {
      for (const owner of owners) await pauses.resume(owner, "agent-4", anAudit("agent.resumed"));
    });
    await pauses.pause(owners[0]!, "agent-4", anAudit("agent.paused"));
    const reason = "its owner asked for it";
    await run(server, "agents", "pause", "agent-4", "--reason", reason);
    const { records } = await (await adminAs(server.url)).admin.operator.audit.list.query({ event: "agent.paused" });
    expect(records).toContainEqual(expect.objectContaining({ clientId: "agent-4", note: reason }));
    const one = { err: `${stays(`${users[0].email}, who`)}\n`, code: 0 };
    expect(await run(server, "agents", "resume", "agent-4")).toEqual({ ...one, out: "resumed\n" });
    expect(await run(server, "agents", "resume", "agent-4")).toEqual({ ...one, out: "was not paused by operators\n" });
    await pauses.pause(owners[1]!, "agent-4", anAudit("agent.paused"));
    const { agents } = (await adminAs(server.url)).admin.operator;
    const paused = async (filter: object) => (await agents.pauses.query({ agent: "agent-4", ...filter })).pauses.length;
    expect([await paused({}), await paused({ userId: null }), await paused({ userId: users[0].id })]).toEqual([2, 0, 1]);
    expect((await run(server, "agents", "resume", "agent-4", "--json")).err).toBe(
      `${stays("2 users, each of whom")}: see \`agents pauses\`\n`,
    );
  });

  test("list reports an unknown agent and malformed ids", async ({ server }) => {
    const nosuch = await run(server, "delegations", "list", "--agent", "nosuch", "--json");
    expect(nosuch).toEqual({ out: "[]\n", err: "nosuch: no agent has this client_id\n", code: 0 });
    expect(await run(server, "delegations", "list", "--agent", "agent-5")).toMatchObject({ err: "", code: 0 });
    expect(await run(server, "delegations", "list", "--grant", "nope")).toEqual({ out: "", err: "--grant: not an id\n", code: 1 });
    expect(await run(server, "delegations", "list", "--user", "nope")).toEqual({ out: "", err: "--user: not an id\n", code: 1 });
  });

  test("report missing and contradictory options", async ({ server }) => {
    const what = "Name what to cut: the id of a delegation, --agent or --grant, and only one of them.\n";
    expect(await run(server, "delegations", "cut")).toMatchObject({ err: what, code: 1 });
    expect(await run(server, "delegations", "cut", "x", "--agent", "y")).toMatchObject({ err: what, code: 1 });
    expect(await run(server, "delegations", "cut", "x", "--user", "y")).toMatchObject({ err: "--user goes with --agent.\n", code: 1 });
    expect((await run(server, "delegations", "list", "--live", "--ended")).err).toBe("Give --live or --ended, not both.\n");
  });
});
