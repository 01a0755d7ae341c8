import { describe, expect, test } from "vitest";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { delegationRepository } from "../../src/store/delegation-repository.ts";
import { statement } from "../../src/store/sql.ts";
import { anAudit, anId, auditOf } from "../support/accounts.ts";
import { databaseKinds, sharedDatabase } from "../support/database.ts";
import { delegating } from "../support/delegation-rows.ts";

const EVERYONE = { kind: "everyone" } as const;
const CUT = anAudit("delegation.cut");

describe.each(databaseKinds)("groups of delegations on $name", ({ fresh }) => {
  const database = sharedDatabase(fresh);
  const { aRoot, aChain, below, tokenOf, record, lives } = delegating(() => database().sql);
  const book = () => delegationRepository(database().sql);

  /** An agent that handed a task on to another one. */
  async function twoAgents() {
    const { scene, grantId, agent, token } = await aRoot();
    const { agent: other } = await aRoot();
    const held = below(scene, grantId, agent, token);
    const handed = below(scene, grantId, other, tokenOf(held));
    for (const one of [held, handed]) expect(await record(one)).toBe(true);
    return { scene, grantId, agent, other, held, handed, application: scene.clientId };
  }

  test("show who acts for whom by whom, above and below an agent, with what is live, paused and ended", async () => {
    const { scene, grantId, agent, other, handed, application } = await twoAgents();
    const chains = (groups: Awaited<ReturnType<ReturnType<typeof book>["groups"]>>) =>
      groups.groups.map(({ userId, chain, live, paused, ended }) => [userId, chain.map(({ clientId }) => clientId), live, paused, ended]);
    const above = [scene.userId, [agent], 1, 0, 0];
    for (const of of [
      { kind: "agent", clientId: other },
      { kind: "grant", id: grantId },
      { kind: "user", id: scene.userId },
    ] as const)
      expect(chains(await book().groups(of))).toEqual(expect.arrayContaining([above, [scene.userId, [agent, other], 1, 0, 0]]));
    expect((await book().groups({ kind: "agent", clientId: agent })).groups[0]).toMatchObject({
      ...{ application: { clientId: application }, users: 1, chain: [{ clientId: agent, name: "A client" }] },
    });
    await agentPauses(database().sql).pause(EVERYONE, other, anAudit("agent.paused"));
    expect(chains(await book().groups({ kind: "agent", clientId: other }))).toContainEqual([scene.userId, [agent, other], 0, 1, 0]);
    await book().cut(EVERYONE, { kind: "delegation", id: handed.id }, CUT);
    expect(chains(await book().groups({ kind: "agent", clientId: other }))).toContainEqual([scene.userId, [agent, other], 0, 0, 1]);
  });

  test("of unknown agents, users and grants are empty", async () => {
    for (const of of [
      { kind: "agent", clientId: "\0" },
      { kind: "user", id: anId() },
      { kind: "grant", id: "x" },
    ] as const)
      expect(await book().groups(of)).toEqual({ groups: [], complete: true });
  });

  const MANY = statement(
    "test_many_delegations",
    `with others as (
       insert into users (realm_id, email, email_key) select realm_id, 'many-' || n, 'many-' || n from users, generate_series(1, 151) as n
       where id = (select user_id from delegations where id = $1::uuid) returning id),
     given as (
       insert into grants select copied.* from grants, others,
         jsonb_populate_record(null::grants, to_jsonb(grants) || jsonb_build_object('id', uuid_v7(), 'user_id', others.id)) as copied
       where grants.id = (select grant_id from delegations where id = $1::uuid) returning id, user_id),
     ids as (select id, user_id, uuid_v7() as delegation from given)
     insert into delegations select copied.* from delegations, ids,
       jsonb_populate_record(null::delegations, to_jsonb(delegations) || jsonb_build_object('id', delegation, 'jti', delegation::text,
         'path', array[delegation], 'user_id', ids.user_id, 'grant_id', ids.id)) as copied
     where delegations.id = $1::uuid`,
  );

  test("count users where there would be more than 150", async () => {
    const { first, agent } = await aChain();
    await database().sql.query(MANY, [first.id]);
    const { groups, complete } = await book().groups({ kind: "agent", clientId: agent });
    expect(groups.map(({ userId, email, users, live }) => [userId, email, users, live])).toEqual([
      [null, null, 152, 152],
      [null, null, 1, 1],
      [null, null, 1, 1],
    ]);
    expect(complete).toBe(true);
  });

  test("a branch is cut for one user or for all, with a record for each delegation", async () => {
    const { scene, agent, other, held, handed, application } = await twoAgents();
    const branch = { kind: "branch", application, chain: [agent, other] } as const;
    expect(await book().cut(EVERYONE, { ...branch, userId: anId() }, CUT)).toBe(0);
    expect(await book().cut(EVERYONE, { ...branch, chain: [other] }, CUT)).toBe(0);
    const before = (await auditOf(database().sql, "delegation.cut")).length;
    expect(await book().cut(EVERYONE, { ...branch, userId: scene.userId }, CUT)).toBe(1);
    expect([await lives(held), await lives(handed)]).toEqual([true, false]);
    expect(await book().cut(EVERYONE, { ...branch, chain: [agent] }, CUT)).toBe(1);
    expect((await auditOf(database().sql, "delegation.cut")).length - before).toBe(2);
    expect(await book().cut(EVERYONE, { ...branch, chain: ["unknown"] }, CUT)).toBeUndefined();
  });

  test("of 16 concurrent cuts of a branch, one cuts it", async () => {
    const { agent, application } = await twoAgents();
    const cuts = await Promise.all(
      Array.from({ length: 16 }, () => book().cut(EVERYONE, { kind: "branch", application, chain: [agent] }, CUT)),
    );
    expect(cuts.reduce((sum: number, cut) => sum + (cut ?? 0), 0)).toBe(1);
  });
});
