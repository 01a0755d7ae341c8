import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { remove } from "../../src/compose/housekeeping.ts";
import { accountClosing } from "../../src/store/account-closing.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { clientDirectory, managedClients } from "../../src/store/clients.ts";
import { delegations } from "../../src/store/delegations.ts";
import { logoutSubscriptions } from "../../src/store/logouts.ts";
import type { Database } from "../../src/store/orm.ts";
import { notices } from "../../src/store/outbox.ts";
import { provisioner } from "../../src/store/provisioning.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { continueRemoval, pendingRemovals } from "../../src/store/removals.ts";
import { sessions } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { revocationEvents, tokenStates } from "../../src/store/token-states.ts";
import { managedUsers, users } from "../../src/store/users.ts";
import { walletLinks } from "../../src/store/wallet-links.ts";
import { aHash, aNewUser, anAudit, anId, aUser } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { delegating } from "../support/delegation-rows.ts";
import { aCode, aFamily, aGrant, aNewClient, anOpenFamily, aScene, type Scene } from "../support/grants.ts";
import { manyGrants } from "../support/many.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

/** More rows than two batches of a removal. */
const MANY = 1_200;

const passwords = { hash: async () => "hash", verify: async () => ({ kind: "right" }) };

describe.for(databaseKinds)("removals on $name", ({ name, fresh }) => {
  let database: Database;
  let sql: Sql;
  beforeAll(async () => {
    database = await fresh();
    sql = database.sql;
  });
  afterAll(() => database.close());

  const signal = new AbortController().signal;
  const counted: [string, number][] = [];
  const metrics = { backgroundRows: (work: string, rows: number) => counted.push([work, rows]) };
  const finish = (on = sql) => remove(on, signal, { metrics, failed: () => undefined });
  const idOf = async ({ clientId }: Scene) => (await clientDirectory(sql).byClientId(clientId))?.id ?? "";
  const liveFamilies = async (scene: Scene): Promise<number> => {
    const [row] = await runText<{ n: number }>(
      sql,
      `select count(*)::int as n from grants join refresh_families family on family.grant_id = grants.id
       where grants.client_id = $1 and family.revoked_at is null`,
      [scene.clientId],
    );
    return row?.n ?? 0;
  };
  /** Sets `enabled` through the management store. */
  const enable = async (scene: Scene, enabled: boolean) =>
    managedClients(sql).change(
      await idOf(scene),
      { kind: "all" },
      (client) => ({ settings: { ...client, enabled }, secret: "kept" }),
      anAudit("client.changed"),
    );
  const rotates = ({ family }: Awaited<ReturnType<typeof anOpenFamily>>) =>
    refreshFamilies(sql).rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 60 }, anAudit("token.issued"));
  const auditRecordsOf = (event: string, key: string) =>
    runText<{ reason: string; resources: string[] }>(
      sql,
      "select reason, resources from audit_records where event = $1 and coalesce(client_id, user_id) = $2",
      [event, key],
    );

  test("disabling a client with 1,200 grants revokes all of them at once, even if the client is enabled again before the removal ends", async () => {
    const scene = await aScene(sql);
    const before = await anOpenFamily(sql, scene);
    const code = await aCode(sql, scene);
    await manyGrants(sql, scene, MANY);
    const left = await aCode(sql, scene);
    expect(await enable(scene, false)).toMatchObject({ enabled: false });
    expect(await liveFamilies(scene)).toBeGreaterThan(0);
    expect(await refreshFamilies(sql).holding(before.family.tokenHash)).toMatchObject({ revoked: true });

    await enable(scene, true);
    const after = await anOpenFamily(sql, scene);
    expect(await liveFamilies(scene)).toBeGreaterThan(1);
    expect(await refreshFamilies(sql).holding(before.family.tokenHash)).toMatchObject({ revoked: true });
    expect(await rotates(before)).toBe(false);
    for (const old of [code, left])
      expect(await authorizationCodes(sql).redeem(old, aGrant(scene), aFamily(), anAudit("token.issued"))).toBe(false);

    await finish();
    expect(await liveFamilies(scene)).toBe(1);
    expect(await rotates(after)).toBe(true);
    const [entry] = await auditRecordsOf("client.access_removed", scene.clientId);
    expect(entry?.reason).toBe("client_disabled");
    const families = Number(entry?.resources.find((text) => text.startsWith("families:"))?.slice("families:".length));
    expect(families).toBeGreaterThan(500);
    expect(await pendingRemovals(sql)).toEqual([]);
  });

  test("a removal that fails halfway keeps its progress, and another process completes it", async () => {
    const scene = await aScene(sql);
    await manyGrants(sql, scene, MANY);
    await enable(scene, false);
    const before = await liveFamilies(scene);
    let batches = 0;
    const failing: Sql = {
      ...sql,
      transaction: (work) =>
        sql.transaction(async (tx) => {
          const result = await work(tx);
          if (++batches === 2) throw new Error("the process dies before its commit");
          return result;
        }),
    };
    const faults: unknown[] = [];
    await remove(failing, signal, { metrics, failed: (error) => faults.push(error) });
    expect(faults.map(String)).toEqual(["Error: the process dies before its commit"]);
    const middle = await liveFamilies(scene);
    expect([middle < before, middle > 0]).toEqual([true, true]);
    await finish();
    expect(await liveFamilies(scene)).toBe(0);
    expect(counted.some(([work, rows]) => work === "removal_client_disabled" && rows > 0)).toBe(true);
  });

  test("three processes that run one removal complete it with one audit record", async () => {
    const scene = await aScene(sql);
    await manyGrants(sql, scene, MANY);
    await enable(scene, false);
    await Promise.all([finish(), finish(), finish()]);
    await finish();
    expect(await liveFamilies(scene)).toBe(0);
    expect(await auditRecordsOf("client.access_removed", scene.clientId)).toHaveLength(1);
  });

  test("codes and tokens used while their client is being disabled stay revoked after it is enabled again", async () => {
    const scene = await aScene(sql);
    await manyGrants(sql, scene, MANY);
    const open = await Promise.all(Array.from({ length: 8 }, () => anOpenFamily(sql, scene)));
    const codes = await Promise.all(Array.from({ length: 8 }, () => aCode(sql, scene)));
    const hashes = [...open, ...codes].map(() => aHash());
    await Promise.all([
      enable(scene, false),
      ...open.map(({ family }, at) =>
        refreshFamilies(sql).rotate(family.id, family.tokenHash, { hash: hashes[at] ?? aHash(), ttl: 60 }, anAudit("token.issued")),
      ),
      ...codes.map((code, at) =>
        authorizationCodes(sql).redeem(
          code,
          aGrant(scene),
          aFamily({ tokenHash: hashes[open.length + at] ?? aHash() }),
          anAudit("token.issued"),
        ),
      ),
    ]);
    await enable(scene, true);
    for (const hash of hashes) {
      const found = await refreshFamilies(sql).holding(hash);
      expect(found?.revoked ?? true).toBe(true);
    }
    await finish();
  });

  test("a deleted client with 1,200 grants has one revocation event, and a new client with its client_id inherits no grant", async () => {
    const scene = await aScene(sql);
    const { grant, family } = await anOpenFamily(sql, scene);
    await manyGrants(sql, scene, MANY);
    const marks = revocationEvents(sql);
    const edge = await marks.edge();
    expect(await managedClients(sql).delete(await idOf(scene), { kind: "all" }, anAudit("client.deleted"))).toBe(true);
    const state = () => tokenStates(sql).of({ jti: anId(), clientId: scene.clientId, userId: scene.userId, grantId: grant.id });
    expect(await state()).toMatchObject({ clientEnabled: false });
    await continueRemoval(sql, (await pendingRemovals(sql))[0] ?? "");
    const events = async () => (await marks.since(edge)).marks.filter(({ key }) => key === scene.clientId || key === grant.id);
    expect((await events()).map(({ kind, lifted }) => [kind, lifted])).toEqual([["client", false]]);

    // Its grants that are not revoked yet would be the new client's.
    const registered = managedClients(sql).register(aNewClient({ clientId: scene.clientId }), anAudit("client.registered"));
    await expect(registered).rejects.toMatchObject({ code: "temporarily_unavailable" });
    const client = {
      clientId: scene.clientId,
      name: "Again",
      redirectUris: ["https://client.example.test/cb"],
      grantTypes: ["authorization_code", "refresh_token"],
    };
    const file = {
      realms: [],
      users: [],
      scopes: [],
      resources: [],
      connections: [],
      workloadIssuers: [],
      clients: [{ ...client, tokenEndpointAuthMethod: "none" }],
    };
    await provisioner(sql, passwords, { issuer: "https://id.example.test", box: A_SECRET_BOX }).apply(file as never);
    expect(await liveFamilies(scene)).toBe(0);
    expect(await state()).toMatchObject({ clientEnabled: true, grantLives: false });
    expect(await refreshFamilies(sql).holding(family.tokenHash)).toMatchObject({ revoked: true });
    expect((await events()).map(({ kind, lifted }) => [kind, lifted])).toEqual([
      ["client", false],
      ["grant", false],
      ["client", true],
    ]);
  });

  test("what a deleted client with 1,200 delegations held as an agent is cut before another client can have its client_id", async () => {
    const [scene, agent] = [await aScene(sql), await aScene(sql)];
    const { grant } = await anOpenFamily(sql, scene);
    await runText(
      sql,
      `insert into delegations (id, kind, jti, parent_jti, grant_id, user_id, path, actor, scopes, audience, expires_at)
       select gen_random_uuid(), 'access_token', $1 || n, 't', $2::uuid, $3::uuid, '{}', $4, '{}', '{}', now() + n * interval '1 minute'
       from generate_series(0, $5::int) as n`,
      [`held-${agent.clientId}-`, grant.id, scene.userId, agent.clientId, MANY],
    );
    const marks = revocationEvents(sql);
    const edge = await marks.edge();
    await managedClients(sql).delete(await idOf(agent), { kind: "all" }, anAudit("client.deleted"));
    const register = () => managedClients(sql).register(aNewClient({ clientId: agent.clientId }), anAudit("client.registered"));
    await expect(register()).rejects.toMatchObject({ code: "temporarily_unavailable" });
    await finish();
    await register();
    const cut = "select count(*)::int as n from delegations where actor = $1 and cut_at is not null";
    expect(await runText(sql, cut, [agent.clientId])).toEqual([{ n: MANY }]); // the first of them had expired
    const seen = (await marks.since(edge)).marks.filter(({ kind, key }) => kind === "jti" && key.includes(agent.clientId));
    expect(seen).toHaveLength(MANY);
  });

  test("what a deleted account's client held as an agent ends for good with the account", async () => {
    const its = delegating(() => sql);
    const { scene, grantId, token } = await its.aRoot();
    const owner = await aUser(sql);
    const agent = aNewClient({ isAgent: true, ownerId: owner.id });
    await managedClients(sql).register(agent, anAudit("client.registered"));
    const held = its.below(scene, grantId, agent.clientId, token);
    expect(await its.record(held)).toBe(true);
    const mail = { subject: "s", text: "t", html: "h" };
    expect(await accountClosing(sql).close(owner.id, undefined, mail, anAudit("user.deleted"))).toBe("closed");
    await managedClients(sql).register({ ...aNewClient({ isAgent: true }), clientId: agent.clientId }, anAudit("client.registered"));
    expect(await its.lives(held)).toBe(false);
  });

  test("signing out everywhere with 1,200 grants invalidates all of them at once, and a new sign-in is not affected", async () => {
    const scene = await aScene(sql);
    const open = await anOpenFamily(sql, scene);
    await manyGrants(sql, scene, MANY);
    const code = await aCode(sql, scene);
    await sessions(sql).endAll(scene.userId, anAudit("session.ended"));
    expect(await liveFamilies(scene)).toBeGreaterThan(0);
    expect(await rotates(open)).toBe(false);
    expect(await refreshFamilies(sql).holding(open.family.tokenHash)).toMatchObject({ revoked: true });
    expect(await authorizationCodes(sql).redeem(code, aGrant(scene), aFamily(), anAudit("token.issued"))).toBe(false);
    const exchanged = {
      id: anId(),
      kind: "access_token" as const,
      jti: anId(),
      parent: { jti: anId() },
      grantId: open.grant.id,
      userId: scene.userId,
      actor: scene.clientId,
      scopes: [],
      audience: [],
      expiresAt: Math.floor(Date.now() / 1_000) + 60,
    };
    expect(await delegations(sql).record(exchanged as never, anAudit("token.issued"))).toBe(false);

    const again = { ...scene, sessionId: anId(), sessionHash: aHash() };
    await sessions(sql).start({ id: again.sessionId, hash: again.sessionHash, userId: scene.userId, ttl: 60 }, anAudit("session.started"));
    const after = await anOpenFamily(sql, again);
    await finish();
    expect(await liveFamilies(scene)).toBe(1);
    expect(await rotates(after)).toBe(true);
    expect(await sessions(sql).byHash(again.sessionHash)).toBeDefined();
    expect((await auditRecordsOf("user.access_removed", scene.userId)).map(({ reason }) => reason)).toEqual(["user_signed_out"]);
  });

  test("signing out everywhere ends 1,200 sessions at once", async () => {
    const scene = await aScene(sql);
    await runText(
      sql,
      `insert into sessions (token_hash, user_id, expires_at) select sha256(int4send(n) || uuid_send($1::uuid)), $1::uuid, now() + interval '1 hour'
       from generate_series(1, ${MANY}) n`,
      [scene.userId],
    );
    await sessions(sql).endAll(scene.userId, anAudit("session.ended"));
    expect(await sessions(sql).ofUser(scene.userId)).toEqual([]);
    expect(await sessions(sql).byHash(scene.sessionHash)).toBeUndefined();
    await finish();
    const [row] = await runText<{ n: number }>(
      sql,
      "select count(*)::int as n from sessions where user_id = $1::uuid and ended_at is null",
      [scene.userId],
    );
    expect(row?.n).toBe(0);
  });

  test("enabling a disabled user with 1,200 grants is refused until all of them are revoked", async () => {
    const scene = await aScene(sql);
    const { grant } = await anOpenFamily(sql, scene);
    await manyGrants(sql, scene, MANY);
    const set = (enabled: boolean) => managedUsers(sql).setEnabled(scene.userId, enabled, anAudit("user.changed"));
    expect(await set(false)).toMatchObject({ enabled: false });
    await expect(set(true)).rejects.toMatchObject({ code: "temporarily_unavailable", detail: { retryAfter: 5 } });
    await finish();
    expect(await set(true)).toMatchObject({ enabled: true });
    const state = await tokenStates(sql).of({ jti: anId(), clientId: scene.clientId, userId: scene.userId, grantId: grant.id });
    expect(state).toMatchObject({ grantLives: false });
  });

  test("enabling a user whom another operator disables just then is refused until all of their grants are revoked", async () => {
    const scene = await aScene(sql);
    await manyGrants(sql, scene, MANY);
    const set = (at: Sql, enabled: boolean) => managedUsers(at).setEnabled(scene.userId, enabled, anAudit("user.changed"));
    const beside: Sql = {
      ...sql,
      transaction: (work) =>
        sql.transaction((tx) =>
          work({
            query: async (statement, parameters) => {
              if (statement.name === "user_set_enabled") await set({ ...tx, transaction: (inner) => inner(tx) }, false);
              return tx.query<never>(statement, parameters);
            },
          }),
        ),
    };
    await expect(set(beside, true)).rejects.toMatchObject({ reason: "user_still_being_disabled" });
  });

  test("closing an account with 1,200 grants frees its address at once, and its rows are deleted later", async () => {
    const scene = await aScene(sql);
    const { grant, family } = await anOpenFamily(sql, scene);
    await manyGrants(sql, scene, MANY);
    const email = (await users(sql).byId(scene.userId))?.email ?? "";
    await runText(
      sql,
      `insert into address_changes (user_id, token_hash, email, former_email, expires_at, stop_until)
       values ($1, $2, 'next@example.test', $3, now() + interval '1 day', now() + interval '7 days')`,
      [scene.userId, aHash(), email],
    );
    await logoutSubscriptions(sql).subscribe(scene.sessionId, "notified");
    const close = () => accountClosing(sql).close(scene.userId, undefined, { subject: "s", text: "t", html: "h" }, anAudit("user.deleted"));
    expect(await close()).toBe("closed");
    expect(await close()).toBe("gone");
    expect(await users(sql).byId(scene.userId)).toBeUndefined();
    expect(await users(sql).byEmail(email)).toBeUndefined();
    expect(await runText(sql, "select email from address_changes where former_email = $1", [email])).toEqual([]);
    expect(await managedUsers(sql).setEnabled(scene.userId, true, anAudit("user.changed"))).toBeUndefined();
    expect(await sessions(sql).byHash(scene.sessionHash)).toBeUndefined();
    expect(await refreshFamilies(sql).holding(family.tokenHash)).toMatchObject({ revoked: true });
    const state = await tokenStates(sql).of({ jti: anId(), clientId: scene.clientId, userId: scene.userId, grantId: grant.id });
    expect(state.subject?.enabled ?? false).toBe(false);
    const mail = { to: email, subject: "s", text: "t", html: "h" };
    const returned = await users(sql).register(aNewUser({ email }), { tokenHash: aHash(), ttl: 60 }, mail, anAudit("user.registered"));
    expect(returned).toMatchObject({ email });

    await finish();
    for (const [table, column] of [
      ["users", "id"],
      ["grants", "user_id"],
      ["sessions", "user_id"],
      ["consents", "user_id"],
    ])
      expect(await runText(sql, `select 1 as one from ${table} where ${column} = $1::uuid`, [scene.userId])).toEqual([]);
    const notified = "select client_id from logout_deliveries where session_id = $1::uuid";
    expect(await runText(sql, notified, [scene.sessionId])).toEqual([{ client_id: "notified" }]);
  });

  test("of a deleted account with 1,200 grants nothing comes back by what was on its way before the rest is deleted", async () => {
    const scene = await aScene(sql);
    const { userId } = scene;
    await manyGrants(sql, scene, MANY);
    const to = (await users(sql).byId(userId))?.email ?? "";
    const mail = { subject: "late", text: "t", html: "h" };
    const client = await managedClients(sql).register(aNewClient(), anAudit("client.registered"));
    expect(await accountClosing(sql).close(userId, undefined, { ...mail, subject: "last" }, anAudit("user.deleted"))).toBe("closed");

    await users(sql).rename(userId, { firstName: "Ada", lastName: null }, anAudit("user.changed"));
    await users(sql).issueVerification(userId, { tokenHash: aHash(), ttl: 60 }, { to, ...mail });
    await notices(sql).send(userId, to, mail);
    const link = { handleHash: aHash(), stateHash: aHash(), userId, sessionId: scene.sessionId, sameDevice: false, ttl: 60 };
    expect(await walletLinks(sql).start(link, anAudit("wallet.link_started"))).toBe(0);
    const register = managedClients(sql).register(aNewClient({ ownerId: userId }), anAudit("client.registered"));
    await expect(register).rejects.toMatchObject({ code: "conflict" });
    const give = managedClients(sql).change(
      client.id,
      { kind: "all" },
      (before) => ({ settings: { ...before, ownerId: userId }, secret: "kept" }),
      anAudit("client.changed"),
    );
    expect(await give).toBeUndefined();
    expect(await runText(sql, "select first_name from users where id = $1::uuid", [userId])).toEqual([{ first_name: null }]);
    expect(await runText(sql, "select recipient from outbox where subject = 'late'")).toEqual([]);
    expect(await runText(sql, "select subject from outbox where recipient = $1 and user_id is null", [to])).toEqual([{ subject: "last" }]);
    await finish();
  });

  // The statement timeout of 2 s applies here as in production, and would cancel a statement that touched every row.
  if (name === "postgresql")
    test("with 100,000 grants, disabling and deleting the client, signing out everywhere and closing the account each revoke one batch", {
      timeout: 120_000,
    }, async () => {
      const scene = await aScene(sql);
      await manyGrants(sql, scene, 100_000);
      await runText(sql, "analyze grants, refresh_families");
      const revoked = async () => 100_000 - (await liveFamilies(scene));
      await enable(scene, false);
      expect(await revoked()).toBeLessThanOrEqual(500);
      await enable(scene, true);
      await sessions(sql).endAll(scene.userId, anAudit("session.ended"));
      expect(await revoked()).toBeLessThanOrEqual(1_000);
      expect(await managedClients(sql).delete(await idOf(scene), { kind: "all" }, anAudit("client.deleted"))).toBe(true);
      expect(await revoked()).toBeLessThanOrEqual(1_500);
      expect(
        await accountClosing(sql).close(scene.userId, undefined, { subject: "s", text: "t", html: "h" }, anAudit("user.deleted")),
      ).toBe("closed");
      expect(await revoked()).toBeLessThanOrEqual(1_500);
      // Later batches cost as much as the first: each continues by index where the previous one ended.
      const [id = ""] = await pendingRemovals(sql);
      for (let page = 0; page < 10; page += 1) expect(await continueRemoval(sql, id)).toMatchObject({ finished: false });
    });
});
