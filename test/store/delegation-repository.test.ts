import { describe, expect, test } from "vitest";
import { delegationRepository } from "../../src/store/delegation-repository.ts";
import { grants } from "../../src/store/grants.ts";
import { type Sql, statement } from "../../src/store/sql.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { anAudit, anId, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText, sharedDatabase } from "../support/database.ts";
import { delegating } from "../support/delegation-rows.ts";

const EVERYONE = { kind: "everyone" } as const;
const user = (userId: string) => ({ kind: "user", userId }) as const;
const OPERATOR = { type: "user", id: "an operator" } as const;
const byOperator = anAudit("delegation.cut", { actor: OPERATOR });

describe.each(databaseKinds)("delegation repository on $name", ({ fresh }) => {
  const database = sharedDatabase(fresh);
  const { aRoot, aChain, below, tokenOf, record, lives } = delegating(() => database().sql);
  const book = () => delegationRepository(database().sql);
  const ids = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id).sort();

  test("a tree contains its grant, and each delegation after its parent", async () => {
    const { scene, grantId, agent, token, first, second, third } = await aChain();
    const beside = below(scene, grantId, agent, token);
    expect(await record(beside)).toBe(true);
    const tree = await book().tree(EVERYONE, grantId);
    expect(tree?.root).toMatchObject({ id: grantId, userId: scene.userId, application: { clientId: scene.clientId }, ended: null });
    const places = new Map(tree?.delegations.map(({ id }, place) => [id, place]));
    expect(tree?.delegations.every(({ id, parentId }) => parentId === null || places.get(parentId)! < places.get(id)!)).toBe(true);
    expect(ids(tree?.delegations ?? [])).toEqual(ids([first, second, third, beside]));
    expect(tree?.complete).toBe(true);
    expect(tree?.delegations.find(({ id }) => id === third.id)).toMatchObject({
      parentId: second.id,
      application: { clientId: scene.clientId },
      agent: { clientId: agent, name: "A client" },
      chain: [agent, agent, agent],
      scopes: ["crm:read"],
      audience: ["https://crm.example.test/mcp"],
      expiresAt: third.expiresAt,
      ended: null,
    });
  });

  test('an ended delegation states the reason, the time and who cut it; its descendants state "ended_above"', async () => {
    const { grantId, first, second, third } = await aChain();
    expect(await book().cut(EVERYONE, { kind: "delegation", id: second.id }, byOperator)).toBe(1);
    const ends = async (live?: boolean) => {
      const tree = await book().tree(EVERYONE, grantId, live);
      return new Map(tree?.delegations.map(({ id, ended }) => [id, ended]));
    };
    const states = await ends();
    expect([states.get(first.id), states.get(third.id)]).toEqual([null, { reason: "ended_above", at: null, by: null }]);
    expect(states.get(second.id)).toEqual({ reason: "cut", at: expect.any(Number), by: OPERATOR });
    expect([[...(await ends(true)).keys()], ids([...(await ends(false)).keys()].map((id) => ({ id })))]).toEqual([
      [first.id],
      ids([second, third]),
    ]);
    await grants(database().sql).revoke(grantId, anAudit("token.revoked"));
    expect((await ends()).get(first.id)).toEqual({ reason: "grant_ended", at: expect.any(Number), by: null });
    expect((await book().tree(EVERYONE, grantId))?.root.ended?.reason).toBe("grant_ended");
  });

  test("a client that revokes its own delegated token is recorded as the one who cut it", async () => {
    const { grantId, agent, first } = await aChain();
    const audit = anAudit("token.revoked", { actor: { type: "client", id: agent } });
    await tokenStates(database().sql).revoke(tokenOf(first), first.expiresAt, audit);
    const tree = await book().tree(EVERYONE, grantId);
    expect(tree?.delegations[0]?.ended).toMatchObject({ reason: "cut", by: { type: "client", id: agent } });
  });

  test("cutting a grant ends all its delegations, with one audit record", async () => {
    const { scene, grantId, first, third } = await aChain();
    const before = (await auditOf(database().sql, "delegation.cut")).length;
    expect(await book().cut(EVERYONE, { kind: "grant", id: grantId }, byOperator)).toBe(1);
    expect(await book().cut(EVERYONE, { kind: "grant", id: grantId }, byOperator)).toBe(0);
    expect(await Promise.all([first, third].map(lives))).toEqual([false, false]);
    const [entry, ...others] = (await auditOf(database().sql, "delegation.cut")).slice(before);
    expect([entry?.grant_id, entry?.user_id, entry?.client_id]).toEqual([grantId, scene.userId, scene.clientId]);
    expect(others).toEqual([]);
  });

  test("a user lists and cuts their own delegations; those of other users are reported as unknown", async () => {
    const [mine, theirs] = [await aChain(), await aChain()];
    const me = user(mine.scene.userId);
    expect(ids((await book().list(me, {}, { limit: 50 })).items)).toEqual(ids([mine.first, mine.second, mine.third]));
    expect((await book().list(me, { userId: theirs.scene.userId }, { limit: 50 })).items).toEqual([]);
    expect(await book().tree(me, theirs.grantId)).toBeUndefined();
    expect((await book().tree(me, mine.grantId))?.root.id).toBe(mine.grantId);
    for (const what of [
      { kind: "delegation", id: theirs.first.id },
      { kind: "grant", id: theirs.grantId },
      { kind: "delegation", id: anId() },
      { kind: "grant", id: "none" },
      { kind: "agent", clientId: "unknown" },
    ] as const)
      expect(await book().cut(me, what, byOperator)).toBeUndefined();
    expect(await book().cut(me, { kind: "agent", clientId: theirs.agent }, byOperator)).toBe(0);
    expect(await book().cut(me, { kind: "agent", clientId: mine.agent, userId: theirs.scene.userId }, byOperator)).toBe(0);
    expect(await lives(theirs.first)).toBe(true);
    expect(await book().cut(me, { kind: "agent", clientId: mine.agent }, byOperator)).toBe(3);
  });

  test("a list is filtered by user, agent, grant and liveness, newest first, and continues from its cursor", async () => {
    const { scene, grantId, agent, first, second, third } = await aChain();
    const everything = await book().list(EVERYONE, { userId: scene.userId, agent, grantId, live: true }, { limit: 50 });
    expect(ids(everything.items)).toEqual(ids([first, second, third]));
    const paged: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await book().list(EVERYONE, { agent }, { limit: 1, cursor: after });
      paged.push(...page.items.map(({ id }) => id));
      if (page.next === null) break;
      after = page.next;
    }
    expect(paged).toEqual(everything.items.map(({ id }) => id));
    for (const filter of [{ agent: "unknown" }, { agent: "\0" }, { userId: anId() }, { grantId: anId() }, { agent, live: false }])
      expect((await book().list(EVERYONE, filter, { limit: 50 })).items).toEqual([]);
  });

  test("delegations of the same second are listed in the order of creation, also when the cursor's delegation has been deleted", async () => {
    const { scene, grantId, agent, token } = await aRoot();
    const ends = ["ff", "00", "88", "44", "cc"];
    const at = anId().slice(0, -2);
    const made = ends.map((end) => below(scene, grantId, agent, token, { id: at + end }));
    for (const one of made.slice(0, 3)) expect(await record(one)).toBe(true);
    expect(await Promise.all(made.slice(3).map(record))).toEqual([true, true]); // in one statement
    const newest = made.map(({ id }) => id).reverse();
    const listed = async (limit: number, after?: string) => {
      const { items, next } = await book().list(EVERYONE, { agent }, { limit, cursor: after });
      return { ids: items.map(({ id }) => id), next };
    };
    expect((await listed(50)).ids).toEqual(newest);
    const { ids: two, next } = await listed(2);
    const others = newest.slice(2);
    expect([two, (await listed(50, next ?? "")).ids]).toEqual([newest.slice(0, 2), others]);
    expect((await book().tree(EVERYONE, grantId))?.delegations.map(({ id }) => id)).toEqual([...newest].reverse());
    await runText(database().sql, "delete from delegations where id = $1::uuid", [two[1] ?? ""]);
    expect((await listed(50, next ?? "")).ids).toEqual(others);
  });

  test("in a tree, descendants directly follow their parent, in the order of creation", async () => {
    const { scene, grantId, agent, token } = await aRoot();
    const at = anId().slice(0, -2);
    const [late, first] = [below(scene, grantId, agent, token, { id: `${at}00` }), below(scene, grantId, agent, token, { id: `${at}ff` })];
    const [child, other] = ["77", "33"].map((end) => below(scene, grantId, agent, tokenOf(first), { id: at + end }));
    for (const one of [first, child!, late, other!]) expect(await record(one)).toBe(true);
    const tree = await book().tree(EVERYONE, grantId);
    expect(tree?.delegations.map(({ id }) => id)).toEqual([first, child!, other!, late].map(({ id }) => id));
  });

  test("cutting an agent ends all of its 1103 delegations, more than one statement covers, with an audit record for each", async () => {
    const { scene, grantId, agent, token } = await aChain();
    await database().sql.query(
      statement(
        "test_many_delegations",
        `insert into delegations (id, kind, jti, parent_jti, grant_id, user_id, path, actor, scopes, audience, expires_at)
         select id, 'access_token', 'd.' || id, $4, $1::uuid, $2::uuid, array[id], $3, '{a}', '{b}', now() + interval '10 minutes'
         from (select uuid_v7() as id from generate_series(1, 1100)) as made`,
      ),
      [grantId, scene.userId, agent, token.jti],
    );
    const before = (await auditOf(database().sql, "delegation.cut")).length;
    const what = { kind: "agent", clientId: agent } as const;
    expect([await book().cut(EVERYONE, what, byOperator), await book().cut(EVERYONE, what, byOperator)]).toEqual([1103, 0]);
    expect((await book().list(EVERYONE, { agent, live: true }, { limit: 50 })).items).toEqual([]);
    expect((await auditOf(database().sql, "delegation.cut")).length - before).toBe(1103);
  });

  test("an agent of a user with thousands of delegations is named once for each application, by one statement with one row for each", async () => {
    const { scene, grantId, agent, token } = await aRoot();
    const others = await aChain();
    const insert = `insert into delegations (id, kind, jti, parent_jti, grant_id, user_id, path, actor, scopes, audience, created_at, expires_at)
      select id, 'access_token', id::text, $4, $1::uuid, $2::uuid, array[id], $3, array['crm:read', 'crm:' || place % 2], array['https://' || place % 3],
        to_timestamp(1000 + place), to_timestamp(2000 + place)
      from (select gen_random_uuid() as id, place from generate_series(1, 5000) as place) as made`;
    await runText(database().sql, insert, [grantId, scene.userId, agent, token.jti]);
    await runText(database().sql, insert, [grantId, scene.userId, "a deleted agent", token.jti]);
    const rows: number[] = [];
    const query: Sql["query"] = async <Row>(...call: Parameters<Sql["query"]>) => {
      const found = await database().sql.query<Row>(...call);
      rows.push(found.length);
      return found;
    };
    const access = {
      application: scene.clientId,
      scopes: ["crm:0", "crm:1", "crm:read"],
      resources: ["https://0", "https://1", "https://2"],
    };
    const times = { firstIssuedAt: 1001, lastIssuedAt: 6000, expiresAt: 7000 };
    const expected = [agent, "a deleted agent"].sort().map((one) => ({ agent: one, ...access, ...times }));
    const found = await delegationRepository({ ...database().sql, query }).agentsOf(scene.userId);
    expect([found.toSorted((a, b) => (a.agent < b.agent ? -1 : 1)), rows]).toEqual([expected, [2]]);
    expect(await book().agentsOf(others.scene.userId)).toMatchObject([{ agent: others.agent, application: others.scene.clientId }]);
  });

  test("64 concurrent cuts of one delegation: exactly one succeeds, with one audit record", async () => {
    const { first } = await aChain();
    const before = (await auditOf(database().sql, "delegation.cut")).length;
    const cuts = Array.from({ length: 64 }, () => book().cut(EVERYONE, { kind: "delegation", id: first.id }, byOperator));
    expect((await Promise.all(cuts)).reduce((sum: number, ended) => sum + (ended ?? 0), 0)).toBe(1);
    expect((await auditOf(database().sql, "delegation.cut")).length - before).toBe(1);
  });

  test("cutting a grant revokes its refresh families", async () => {
    const { grantId } = await aRoot();
    const living = async () =>
      database().sql.query(
        statement("test_living_families", "select 1 as one from refresh_families where grant_id = $1::uuid and revoked_at is null"),
        [grantId],
      );
    expect(await living()).toHaveLength(1);
    await book().cut(EVERYONE, { kind: "grant", id: grantId }, byOperator);
    expect(await living()).toEqual([]);
  });
});
