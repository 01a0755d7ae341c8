import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Cut } from "../../src/accounts/delegations.ts";
import type { AuditEntry } from "../../src/audit.ts";
import { delegationRepository } from "../../src/store/delegation-repository.ts";
import { grants } from "../../src/store/grants.ts";
import { identityAssertions } from "../../src/store/identity-assertions.ts";
import type { Database } from "../../src/store/orm.ts";
import { sessions } from "../../src/store/sessions.ts";
import { type Sql, statement } from "../../src/store/sql.ts";
import { sweep } from "../../src/store/sweep.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { managedUsers } from "../../src/store/users.ts";
import { anAudit, anId, auditOf, DEFAULT_REALM_ID } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { delegating } from "../support/delegation-rows.ts";
import { aClient } from "../support/grants.ts";

const EVERYONE = { kind: "everyone" } as const;

describe.each(databaseKinds)("delegations on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  const { aRoot, aChain, below, tokenOf, record, lives } = delegating(() => database.sql);

  test("cutting a delegation ends its descendants but not its ancestors, with one audit record", async () => {
    const { first, second, third } = await aChain();
    expect(await Promise.all([first, second, third].map(lives))).toEqual([true, true, true]);
    const before = (await auditOf(database.sql, "delegation.cut")).length;
    expect(await delegationRepository(database.sql).cut(EVERYONE, { kind: "delegation", id: second.id }, anAudit("delegation.cut"))).toBe(
      1,
    );
    expect(await delegationRepository(database.sql).cut(EVERYONE, { kind: "delegation", id: second.id }, anAudit("delegation.cut"))).toBe(
      0,
    );
    expect(await Promise.all([first, second, third].map(lives))).toEqual([true, false, false]);
    const [entry, ...others] = (await auditOf(database.sql, "delegation.cut")).slice(before);
    expect([entry?.user_id, entry?.client_id, entry?.grant_id, others.length]).toEqual([second.userId, second.actor, second.grantId, 0]);
  });

  test("cutting an agent for one user leaves its delegations for other users live", async () => {
    const [mine, theirs] = [await aChain(), await aRoot()];
    const other = below(theirs.scene, theirs.grantId, mine.agent, theirs.token);
    expect(await record(other)).toBe(true);
    const what = { kind: "agent", clientId: mine.agent, userId: mine.scene.userId } as const;
    expect(await delegationRepository(database.sql).cut(EVERYONE, what, anAudit("delegation.cut"))).toBe(3);
    expect([await lives(mine.first), await lives(other)]).toEqual([false, true]);
    expect(await delegationRepository(database.sql).cut(EVERYONE, { kind: "agent", clientId: mine.agent }, anAudit("delegation.cut"))).toBe(
      1,
    );
    expect(await lives(other)).toBe(false);
  });

  test("an invalid id cuts nothing", async () => {
    const cut: (what: Cut, audit: AuditEntry) => Promise<number | undefined> = (...given) =>
      delegationRepository(database.sql).cut(EVERYONE, ...given);
    expect(await cut({ kind: "delegation", id: "x" }, anAudit("delegation.cut"))).toBeUndefined();
    expect(await cut({ kind: "agent", clientId: "x", userId: "y" }, anAudit("delegation.cut"))).toBeUndefined();
  });

  test("a token with another jti, agent, user or delegation id is not live", async () => {
    const { first } = await aChain();
    const other = await aRoot();
    for (const wrong of [{ jti: "d.x" }, { clientId: other.agent }, { userId: other.scene.userId }, { delegationId: anId() }]) {
      expect((await tokenStates(database.sql).of({ ...tokenOf(first), ...wrong })).grantLives).toBe(false);
    }
  });

  test("the state of another user's token does not reveal that a delegation was cut", async () => {
    const { first } = await aChain();
    const [{ scene: other }, { sql }] = [await aRoot(), database];
    await delegationRepository(sql).cut(EVERYONE, { kind: "delegation", id: first.id }, anAudit("delegation.cut"));
    expect((await tokenStates(sql).of(tokenOf(first))).revoked).toBe(true);
    expect((await tokenStates(sql).of({ ...tokenOf(first), userId: other.userId })).revoked).toBe(false);
  });

  test.for([
    ["the grant is revoked", (root) => grants(database.sql).revoke(root.grantId, anAudit("token.revoked"))],
    ["the user has signed out", (root) => sessions(database.sql).endAll(root.scene.userId, anAudit("session.ended"))],
    [
      "the token is revoked",
      (root) => tokenStates(database.sql).revoke(root.token, Math.floor(Date.now() / 1000) + 60, anAudit("token.revoked")),
    ],
    ["the user is disabled", (root) => run("update users set enabled = false where id = $1::uuid", root.scene.userId)],
    ["the agent is disabled", (root) => run("update clients set enabled = false where client_id = $1", root.agent)],
    ["the application is disabled", (root) => run("update clients set enabled = false where client_id = $1", root.scene.clientId)],
  ] as const satisfies readonly (readonly [string, (root: Awaited<ReturnType<typeof aRoot>>) => Promise<unknown>])[])(
    "stores no delegation and no audit record when %s",
    async ([, end]) => {
      const root = await aRoot();
      await end(root);
      const before = (await auditOf(database.sql, "token.issued")).length;
      const [bad, good] = [below(root.scene, root.grantId, root.agent, root.token), await aRoot()];
      const neighbour = below(good.scene, good.grantId, good.agent, good.token);
      expect(await Promise.all([record(bad), record(neighbour)])).toEqual([false, true]);
      expect((await auditOf(database.sql, "token.issued")).length - before).toBe(2); // the neighbour's code and its delegation
    },
  );

  const run = (text: string, ...parameters: string[]) =>
    database.sql.query(statement(`test_${Buffer.from(text).toString("base64url").slice(0, 50)}`, text), parameters);

  test("stores no delegation below a cut delegation or below a delegation of another grant", async () => {
    const chain = await aChain();
    const other = await aRoot();
    expect(await record(below(other.scene, other.grantId, other.agent, tokenOf(chain.third)))).toBe(false);
    await delegationRepository(database.sql).cut(EVERYONE, { kind: "delegation", id: chain.first.id }, anAudit("delegation.cut"));
    expect(await record(below(chain.scene, chain.grantId, chain.agent, tokenOf(chain.third)))).toBe(false);
  });

  test("a delegation that is stored while its parent is cut is not live", async () => {
    for (let round = 0; round < 10; round++) {
      const { scene, grantId, agent, first } = await aChain();
      const born = Array.from({ length: 8 }, () => below(scene, grantId, agent, tokenOf(first)));
      const stored = born.map(record);
      await delegationRepository(database.sql).cut(EVERYONE, { kind: "delegation", id: first.id }, anAudit("delegation.cut"));
      await Promise.all(stored);
      expect(await Promise.all(born.map(lives))).toEqual(born.map(() => false));
    }
  });

  test("the sweep deletes an expired delegation with its descendants", async () => {
    const { first, second } = await aChain();
    await run("update delegations set expires_at = now() - interval '2 days' where id = $1::uuid", first.id);
    await sweep(database.sql);
    expect(await lives(second)).toBe(false);
    expect(await run("select 1 as one from delegations where id = $1::uuid", second.id)).toEqual([]);
  });
});

describe.each(databaseKinds)("identity assertions on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  async function presenting() {
    const client = await aClient(database.sql);
    const identity = {
      issuer: "https://idp.example.test",
      subject: anId(),
      verifiedEmail: undefined,
      realmId: DEFAULT_REALM_ID,
      jti: anId(),
      remember: 300,
    };
    return (more: Partial<typeof identity> = {}, sql: Pick<Sql, "query" | "transaction"> = database.sql) =>
      identityAssertions(sql as Sql)
        .accept(
          { ...identity, newUserId: anId(), ...more },
          { id: anId(), clientId: client.clientId, scopes: ["a"], audience: ["b"], authTime: 1_790_000_000 },
          anAudit("token.issued", { clientId: client.clientId }),
        )
        .catch((error: { reason: string }) => error.reason);
  }
  const count = async (table: string) =>
    (await database.sql.query<{ n: number }>(statement(`test_count_${table}`, `select count(*)::int as n from ${table}`), []))[0]?.n ?? 0;

  test("64 concurrent uses of one assertion: one grant, one user and one audit record for each effect", async () => {
    const present = await presenting();
    const before = [await count("grants"), await count("users"), await count("audit_records")];
    const answers = await Promise.all(Array.from({ length: 64 }, () => present()));
    expect(answers.filter((answer) => answer !== "assertion_replayed")).toHaveLength(1);
    const after = [await count("grants"), await count("users"), await count("audit_records")];
    expect(after.map((n, index) => n - (before[index] ?? 0))).toEqual([1, 1, 3]); // the token, the user and the link
  });

  test("12 concurrent assertions of one new identity create one user", async () => {
    const present = await presenting();
    const users = await Promise.all(Array.from({ length: 12 }, () => present({ jti: anId() })));
    expect(new Set(users).size).toBe(1);
    expect(users[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("explain reports the outcome of an assertion and stores nothing", async () => {
    const present = await presenting();
    const [subject, jti] = [anId(), anId()];
    const identity = { issuer: "https://idp.example.test", subject, verifiedEmail: undefined, realmId: DEFAULT_REALM_ID };
    const outlook = (id: string) =>
      identityAssertions(database.sql).outlook({ ...identity, jti: id, newUserId: anId(), remember: 300 }, "desk");
    const before = [await count("users"), await count("audit_records"), await count("consumed_ids")];
    expect(await outlook(jti)).toEqual({ enabled: true, agentPaused: false, used: false });
    expect([await count("users"), await count("audit_records"), await count("consumed_ids")]).toEqual(before);
    const userId = await present({ subject, jti });
    expect(await outlook(jti)).toEqual({ enabled: true, agentPaused: false, used: true });
    await database.sql.query(statement("test_disable_user", "update users set enabled = false where id = $1::uuid"), [userId]);
    expect(await outlook("another")).toEqual({ enabled: false, agentPaused: false, used: false });
  });

  test("the same subject from two issuers is two users", async () => {
    const present = await presenting();
    const [one, two] = [await present(), await present({ issuer: "https://other.example.test" })];
    expect(one).toMatch(/^[0-9a-f-]{36}$/);
    expect(two).toMatch(/^[0-9a-f-]{36}$/);
    expect(two).not.toBe(one);
  });

  test("an assertion of a disabled user is refused and not consumed", async () => {
    const present = await presenting();
    const userId = await present({ jti: "first" });
    await database.sql.query(statement("test_disable", "update users set enabled = false where id = $1::uuid"), [userId]);
    expect(await present()).toBe("user_disabled");
    await database.sql.query(statement("test_enable", "update users set enabled = true where id = $1::uuid"), [userId]);
    expect(await present()).toBe(userId);
  });

  test("a user who is disabled while an assertion is accepted gets no grant", async () => {
    const present = await presenting();
    const userId = await present();
    const disable = statement("test_disable_and_end", "update users set enabled = false, epoch = epoch + 1 where id = $1::uuid");
    const disabling: Pick<Sql, "query" | "transaction"> = {
      query: database.sql.query,
      transaction: (work) =>
        database.sql.transaction((tx) =>
          work({
            ...tx,
            query: async (sent, parameters) => {
              if (sent.name === "identity_open") await tx.query(disable, [userId as string]);
              return tx.query(sent, parameters);
            },
          }),
        ),
    };
    expect(await present({ jti: anId() }, disabling)).toBe("user_disabled");
  });

  test("a user who is disabled before an accepted assertion is stored has no live grant once enabled again", async () => {
    const present = await presenting();
    const userId = String(await present());
    const enable = (enabled: boolean) => managedUsers(database.sql).setEnabled(userId, enabled, anAudit("user.changed"));
    let disabled: Promise<unknown> | undefined;
    const overtaken: Pick<Sql, "query" | "transaction"> = {
      query: database.sql.query,
      transaction: (work) =>
        database.sql.transaction(async (tx) => {
          const outcome = await work(tx);
          disabled = enable(false);
          await Promise.race([disabled, setTimeout(200)]); // it ends now, or waits for this transaction
          return outcome;
        }),
    };
    expect(await present({ jti: anId() }, overtaken)).toBe(userId);
    await disabled;
    await enable(true);
    const live = "select id from grants where user_id = $1::uuid and revoked_at is null";
    expect(await runText(database.sql, live, [userId])).toEqual([]);
  });
});
