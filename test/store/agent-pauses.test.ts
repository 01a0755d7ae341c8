import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { auditTrail } from "../../src/store/audit-trail.ts";
import { delegationRepository } from "../../src/store/delegation-repository.ts";
import type { Database } from "../../src/store/orm.ts";
import { statement } from "../../src/store/sql.ts";
import { revocationEvents, tokenStates } from "../../src/store/token-states.ts";
import { anAudit, auditOf } from "../support/accounts.ts";
import { databaseKinds } from "../support/database.ts";
import { delegating } from "../support/delegation-rows.ts";
import { aClient } from "../support/grants.ts";

const EVERYONE = { kind: "everyone" } as const;
const user = (userId: string) => ({ kind: "user", userId }) as const;
const PAUSED = anAudit("agent.paused");
const RESUMED = anAudit("agent.resumed");

describe.each(databaseKinds)("pauses of agents on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const { aChain, aRoot, below, tokenOf, record, lives } = delegating(() => database.sql);
  const pauses = () => agentPauses(database.sql);
  const records = async (event: "agent.paused" | "agent.resumed") => (await auditOf(database.sql, event)).length;

  test("an agent's delegations and their descendants are inactive while it is paused, and it cannot store new ones until it is resumed", async () => {
    const { scene, grantId, agent, token, first, third } = await aChain();
    const other = await aChain();
    expect(await pauses().pause(EVERYONE, agent, PAUSED)).toBe(true);
    expect(await Promise.all([first, third, other.first].map(lives))).toEqual([false, false, true]);
    expect(await record(below(scene, grantId, agent, token))).toBe(false);
    const tree = await delegationRepository(database.sql).tree(EVERYONE, grantId);
    expect(new Set(tree?.delegations.map(({ ended }) => ended?.reason))).toEqual(new Set(["agent_paused"]));
    expect(await pauses().resume(EVERYONE, agent, RESUMED)).toBe(true);
    expect(await Promise.all([first, third].map(lives))).toEqual([true, true]);
    expect(await record(below(scene, grantId, agent, token))).toBe(true);
  });

  test("a delegation that is cut during a pause stays cut after the agent is resumed", async () => {
    const { agent, first, third } = await aChain();
    await pauses().pause(EVERYONE, agent, PAUSED);
    await delegationRepository(database.sql).cut(EVERYONE, { kind: "delegation", id: first.id }, anAudit("delegation.cut"));
    await pauses().resume(EVERYONE, agent, RESUMED);
    expect(await Promise.all([first, third].map(lives))).toEqual([false, false]);
  });

  test('a delegation below a paused agent is reported as "paused_above", unless it was cut itself', async () => {
    const { scene, grantId, agent, token } = await aRoot();
    const other = (await aRoot()).agent;
    const above = below(scene, grantId, agent, token);
    const [held, cut] = [below(scene, grantId, other, tokenOf(above)), below(scene, grantId, other, tokenOf(above))];
    for (const one of [above, held, cut]) expect(await record(one)).toBe(true);
    await pauses().pause(EVERYONE, agent, PAUSED);
    const book = delegationRepository(database.sql);
    await book.cut(EVERYONE, { kind: "delegation", id: cut.id }, anAudit("delegation.cut"));
    const reasons = async () => {
      const tree = await book.tree(EVERYONE, grantId);
      return [above, held, cut].map((one) => tree?.delegations.find(({ id }) => id === one.id)?.ended?.reason);
    };
    expect(await reasons()).toEqual(["agent_paused", "paused_above", "cut"]);
    await book.cut(EVERYONE, { kind: "delegation", id: above.id }, anAudit("delegation.cut"));
    expect(await reasons()).toEqual(["cut", "ended_above", "cut"]);
    await pauses().resume(EVERYONE, agent, RESUMED);
    expect(await reasons()).toEqual(["cut", "ended_above", "cut"]);
  });

  test('what an application that is paused as an agent has passed on is reported as "paused_above", and a pause ends with the agent', async () => {
    const { scene, grantId, agent, token } = await aRoot();
    const held = below(scene, grantId, agent, token);
    expect(await record(held)).toBe(true);
    const { clientId } = scene;
    const change = (isAgent: boolean) =>
      database.sql.query(statement("test_is_agent", "update clients set is_agent = $2 where client_id = $1"), [clientId, isAgent]);
    const reason = async () => (await delegationRepository(database.sql).tree(EVERYONE, grantId))?.delegations[0]?.ended?.reason;
    await change(true);
    await pauses().pause(EVERYONE, clientId, PAUSED);
    expect([await reason(), await lives(held)]).toEqual(["paused_above", false]);
    await change(false);
    expect([await reason(), await lives(held)]).toEqual([undefined, true]);
    expect((await pauses().list(EVERYONE, { agent: clientId }, { limit: 1, count: false })).items).toEqual([]);
    await pauses().pause(EVERYONE, agent, PAUSED);
    await database.sql.query(statement("test_delete_client", "delete from clients where client_id = $1"), [agent]);
    expect((await pauses().list(EVERYONE, { agent }, { limit: 1, count: false })).items).toEqual([]);
  });

  test("a user's pause affects only their own delegations, and a user cannot lift an operator's pause", async () => {
    const [mine, theirs] = [await aChain(), await aRoot()];
    const held = below(theirs.scene, theirs.grantId, mine.agent, theirs.token);
    expect(await record(held)).toBe(true);
    const me = user(mine.scene.userId);
    expect(await pauses().pause(me, mine.agent, PAUSED)).toBe(true);
    expect([await lives(mine.first), await lives(held)]).toEqual([false, true]);
    await pauses().pause(EVERYONE, mine.agent, PAUSED);
    expect(await pauses().resume(me, mine.agent, RESUMED)).toBe(true);
    expect([await lives(mine.first), await lives(held)]).toEqual([false, false]);
    await pauses().resume(EVERYONE, mine.agent, RESUMED);
    expect([await lives(mine.first), await lives(held)]).toEqual([true, true]);
  });

  test("the state of a subject token says whether the requesting agent is paused", async () => {
    const { scene, agent, token } = await aRoot();
    const paused = async () => (await tokenStates(database.sql).of({ ...token, agent })).agentPaused;
    expect(await paused()).toBe(false);
    await pauses().pause(user(scene.userId), agent, PAUSED);
    expect(await paused()).toBe(true);
    expect((await tokenStates(database.sql).of(token)).agentPaused).toBe(false);
  });

  test("a second pause or resume changes and records nothing; a client that is not an agent is unknown", async () => {
    const { agent } = await aRoot();
    const application = (await aClient(database.sql)).clientId;
    const before = [await records("agent.paused"), await records("agent.resumed")];
    expect([await pauses().pause(EVERYONE, agent, PAUSED), await pauses().pause(EVERYONE, agent, PAUSED)]).toEqual([true, false]);
    expect([await pauses().resume(EVERYONE, agent, RESUMED), await pauses().resume(EVERYONE, agent, RESUMED)]).toEqual([true, false]);
    for (const unknown of [application, "unknown", "\0"]) {
      expect(await pauses().pause(EVERYONE, unknown, PAUSED)).toBeUndefined();
      expect(await pauses().resume(EVERYONE, unknown, RESUMED)).toBe(false);
    }
    expect([(await records("agent.paused")) - (before[0] ?? 0), (await records("agent.resumed")) - (before[1] ?? 0)]).toEqual([1, 1]);
    const [entry] = (await auditOf(database.sql, "agent.paused")).slice(-1);
    expect([entry?.client_id, entry?.user_id]).toEqual([agent, null]);
  });

  test("a reason is kept on the pause and in the log", async () => {
    const { agent } = await aRoot();
    await pauses().pause(EVERYONE, agent, { ...PAUSED, note: "It answers strangers." });
    const { items } = await pauses().list(EVERYONE, { agent }, { limit: 1, count: false });
    expect(items).toMatchObject([{ reason: "It answers strangers.", userId: null }]);
    const log = await auditTrail(database.sql).list({ event: "agent.paused", clientId: agent }, { limit: 1, count: false });
    expect(log.items).toMatchObject([{ note: "It answers strangers." }]);
  });

  test("64 concurrent calls: exactly one pauses the agent, and exactly one resumes it", async () => {
    const { agent, scene } = await aRoot();
    const at64 = (act: () => Promise<boolean | undefined>) => Promise.all(Array.from({ length: 64 }, act));
    const me = user(scene.userId);
    expect((await at64(() => pauses().pause(me, agent, PAUSED))).filter((won) => won === true)).toHaveLength(1);
    expect((await at64(() => pauses().resume(me, agent, RESUMED))).filter((won) => won)).toHaveLength(1);
  });

  test("lists pauses newest first; a user sees their own pauses and the operators' pauses of agents that act for them", async () => {
    const [mine, theirs] = [await aChain(), await aChain()];
    const me = user(mine.scene.userId);
    await pauses().pause(me, mine.agent, anAudit("agent.paused", { actor: { type: "user", id: mine.scene.userId } }));
    await pauses().pause(EVERYONE, mine.agent, PAUSED);
    await pauses().pause(EVERYONE, theirs.agent, PAUSED);
    await pauses().pause(user(theirs.scene.userId), theirs.agent, PAUSED);
    const own = await pauses().list(me, {}, { limit: 50 });
    expect(own.items.map(({ agent, userId }) => [agent.clientId, userId])).toEqual([
      [mine.agent, null],
      [mine.agent, mine.scene.userId],
    ]);
    expect(own.items[1]).toMatchObject({ by: { type: "user", id: mine.scene.userId }, agent: { name: "A client" } });
    const listed = await pauses().list(EVERYONE, { agent: theirs.agent }, { limit: 1 });
    expect([listed.items.map(({ userId }) => userId), listed.next === null]).toEqual([[theirs.scene.userId], false]);
    expect((await pauses().list(EVERYONE, { userId: mine.scene.userId }, { limit: 50 })).items).toHaveLength(1);
  });

  test("pausing, resuming and cutting each write a revocation event", async () => {
    const { agent, scene, first } = await aChain();
    const edge = await revocationEvents(database.sql).edge();
    await pauses().pause(EVERYONE, agent, PAUSED);
    await pauses().pause(user(scene.userId), agent, PAUSED);
    await pauses().resume(EVERYONE, agent, RESUMED);
    await delegationRepository(database.sql).cut(EVERYONE, { kind: "delegation", id: first.id }, anAudit("delegation.cut"));
    const { marks } = await revocationEvents(database.sql).since(edge);
    const about = marks.filter(({ key }) => key.startsWith(agent) || key === first.jti);
    expect(about.map(({ kind, key, lifted }) => `${lifted ? "+" : "-"}${kind} ${key}`)).toEqual([
      `-agent ${agent}`,
      `-agent ${agent}\n${scene.userId}`,
      `+agent ${agent}`,
      `-jti ${first.jti}`,
    ]);
  });
});
