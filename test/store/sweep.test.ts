import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditLog } from "../../src/store/audit-log.ts";
import { pendingRequests } from "../../src/store/authorization-requests.ts";
import { consents } from "../../src/store/consents.ts";
import { detachedSignatures } from "../../src/store/detached-signatures.ts";
import { grants } from "../../src/store/grants.ts";
import type { Database } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import { signInFailures } from "../../src/store/sign-in-failures.ts";
import type { Sql } from "../../src/store/sql.ts";
import { paceOf, sweep } from "../../src/store/sweep.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aHash, anAudit, anId, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aClient, aFamily, aGrant, anOpenFamily, aScene, type Scene } from "../support/grants.ts";

describe.for(databaseKinds)("the sweep on $name", ({ name, fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const run = <Row>(text: string) => runText<Row>(database.sql, text);
  const count = async (table: string) => (await run<{ n: number }>(`select count(*)::int as n from ${table}`))[0]?.n;

  const tables = [
    "sessions",
    "pending_requests",
    "verification_tokens",
    "sign_in_failures",
    "authorization_codes",
    "refresh_families",
    "refresh_tokens",
    "grants",
    "revocations",
    "consumed_ids",
    "detached_signatures",
  ];

  async function someOfEach(): Promise<Scene> {
    const { sql } = database;
    const scene = await aScene(sql);
    const { family } = await anOpenFamily(sql, scene);
    await refreshFamilies(sql).rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 3_600 }, anAudit("token.issued"));
    await pendingRequests(sql).put(aHash(), "x=1", 600, { holder: "", limit: 10 });
    await signInFailures(sql).reserve(aHash(), { limit: 10, window: 900 });
    await tokenStates(sql).revoke(
      { jti: anId(), clientId: scene.clientId },
      Math.floor(Date.now() / 1_000) + 900,
      anAudit("token.revoked"),
    );
    await detachedSignatures(sql).keep(anId(), { alg: "ML-DSA-65", signature: aHash() }, Math.floor(Date.now() / 1_000) + 900);
    await run("insert into consumed_ids values ('client_assertion', decode('00', 'hex'), now() + interval '5 minutes')");
    return scene;
  }

  test("keeps live rows, and deletes expired ones with the tokens of their families", async () => {
    await someOfEach();
    const before = await Promise.all(tables.map(count));
    expect(before.every((n) => (n ?? 0) > 0)).toBe(true);
    expect(await sweep(database.sql)).toEqual({ gone: 0, more: false });
    expect(await Promise.all(tables.map(count))).toEqual(before);

    for (const table of [
      "sessions",
      "pending_requests",
      "verification_tokens",
      "authorization_codes",
      "refresh_families",
      "revocations",
      "consumed_ids",
      "detached_signatures",
    ]) {
      await run(`update ${table} set expires_at = now() - interval '2 days'`);
    }
    await run("update sign_in_failures set window_ends_at = now() - interval '1 second'");
    await run("update grants set created_at = now() - interval '92 days'");
    expect(await sweep(database.sql)).toMatchObject({ more: false });
    expect(await Promise.all(tables.map(count))).toEqual(tables.map(() => 0));
  });

  test("a redeemed code is kept for a day past its expiry, so that its replay is recognized", async () => {
    const scene = await aScene(database.sql);
    await anOpenFamily(database.sql, scene);
    await run("update authorization_codes set expires_at = now() - interval '23 hours'");
    await sweep(database.sql);
    expect(await count("authorization_codes")).toBe(1);
  });

  const leftovers = (count: number) =>
    run(
      `insert into pending_requests (id_hash, query, expires_at) select int4send(n), 'x', now() - interval '1 minute' from generate_series(1, ${count}) n`,
    );

  test("1,100 expired rows are deleted in batches of at most 100, with a pause after each", async () => {
    await leftovers(1_100);
    const batches: [string, number][] = [];
    let rests = 0;
    const outcome = await sweep(database.sql, {
      swept: (table, rows) => batches.push([table, rows]),
      rest: async () => {
        rests += 1;
      },
    });
    expect(outcome).toEqual({ gone: 1_100, more: false });
    expect(batches.map(([table]) => table)).toEqual(batches.map(() => "pending_requests"));
    expect(Math.max(...batches.map(([, rows]) => rows))).toBeLessThanOrEqual(100);
    expect(rests).toBe(batches.length);
    expect(await sweep(database.sql)).toEqual({ gone: 0, more: false });
  });

  test("a single-use identifier is kept for an hour past its expiry, so that a slow clock accepts no assertion twice", async () => {
    const left = async () =>
      (await run<{ id: string }>("select encode(id_hash, 'hex') as id from consumed_ids order by 1")).map(({ id }) => id);
    const before = await left();
    await run("insert into consumed_ids values ('client_assertion', decode('0a', 'hex'), now() - interval '59 minutes')");
    await run("insert into consumed_ids values ('client_assertion', decode('0b', 'hex'), now() - interval '61 minutes')");
    await sweep(database.sql);
    expect((await left()).filter((id) => !before.includes(id))).toEqual(["0a"]);
    await run("delete from consumed_ids where id_hash = decode('0a', 'hex')");
  });

  test("an aborted sweep stops after the current batch", async () => {
    await leftovers(1_100);
    const stopping = new AbortController();
    expect(await sweep(database.sql, { signal: stopping.signal, swept: () => stopping.abort() })).toEqual({ gone: 100, more: true });
    expect(await sweep(database.sql)).toEqual({ gone: 1_000, more: false });
  });

  test("a table whose batches fail is retried with smaller batches, and the other tables are swept", async () => {
    await run("insert into consumed_ids values ('client_assertion', decode('01', 'hex'), now() - interval '2 hours')");
    await leftovers(600);
    const sizes: unknown[] = [];
    const { sql } = database;
    const failing: Sql = {
      ...sql,
      query: (one, parameters) => {
        if (one.name !== "sweep_pending_requests") return sql.query(one, parameters);
        sizes.push(parameters[0]);
        return Promise.reject(Object.assign(new Error("too slow"), { code: "57014", severity: "ERROR" }));
      },
    };
    const failures: string[] = [];
    expect(await sweep(failing, { failed: (table) => failures.push(table) })).toEqual({ gone: 1, more: true });
    expect(sizes).toEqual([100, 25, 6, 1]);
    expect(failures).toEqual(sizes.map(() => "pending_requests"));
    expect(await sweep(sql)).toEqual({ gone: 600, more: false });
  });

  test("a sweep proceeds in small batches, hurries once it takes long, and tries fewer rows of a table that fails", () => {
    expect([paceOf(0, 0), paceOf(39_000, 0), paceOf(41_000, 0)]).toEqual([
      { rows: 100, rest: 5 },
      { rows: 100, rest: 5 },
      { rows: 500, rest: 1 },
    ]);
    expect([paceOf(0, 1), paceOf(41_000, 2), paceOf(0, 9)]).toMatchObject([{ rows: 25 }, { rows: 31 }, { rows: 1 }]);
  });

  // Three times the rows that one minute at 1,000 tokens a second leaves; the time it takes depends on the machine.
  if (name === "postgresql")
    test("one sweep deletes 60,000 expired rows from each large table", { timeout: 120_000 }, async () => {
      const { sql } = database;
      const scene = await aScene(sql);
      await run(
        "truncate refresh_tokens, refresh_families, authorization_codes, delegations, grants, revocation_events, revocations, consumed_ids",
      );
      for (let part = 0; part < 24; part += 1) {
        await runText(
          sql,
          `with opened as (
             insert into grants (id, client_id, user_id, scopes, audience, auth_time, created_at)
             select gen_random_uuid(), $2, $1::uuid, '{}', '{}', now(), now() - interval '92 days' from generate_series(1, 2500) returning id),
           begun as (
             insert into refresh_families (id, grant_id, current_hash, expires_at, ends_at)
             select gen_random_uuid(), id, sha256(uuid_send(id)), now() - interval '2 days', now() - interval '2 days' from opened returning id),
           used as (insert into refresh_tokens (token_hash, family_id) select sha256(uuid_send(id)), id from begun)
           insert into authorization_codes (code_hash, client_id, user_id, session_id, redirect_uri, code_challenge, scopes, resources, auth_time,
             expires_at, consumed_at, grant_id)
           select sha256(uuid_send(id)), $2, $1::uuid, $1::uuid, '', '', '{}', '{}', now(), now() - interval '2 days', now(), id from opened`,
          [scene.userId, scene.clientId],
        );
        await runText(
          sql,
          `with ended as (
             insert into revocations (jti, client_id, expires_at) select gen_random_uuid()::text, 'c', now() - interval '2 hours' from generate_series(1, 2500))
           insert into consumed_ids select 'client_assertion', uuid_send(gen_random_uuid()), now() - interval '2 hours' from generate_series(1, 2500)`,
        );
      }
      const { more } = await sweep(sql);
      expect(more).toBe(false);
      const swept = [
        "grants",
        "refresh_families",
        "refresh_tokens",
        "authorization_codes",
        "revocations",
        "consumed_ids",
        "revocation_events",
      ];
      expect(await Promise.all(swept.map(count))).toEqual(swept.map(() => 0));
    });

  test("six concurrent sweeps delete each row once and do not block each other", async () => {
    await run(
      "insert into pending_requests (id_hash, query, expires_at) select int4send(n), 'y', now() - interval '1 minute' from generate_series(1, 40) n",
    );
    const rounds = await Promise.all(Array.from({ length: 6 }, () => sweep(database.sql)));
    expect(rounds.reduce((sum, { gone }) => sum + gone, 0)).toBe(40);
  });

  test("deletes dynamic clients unused for a day after registration or for a month, but none with a live grant", async () => {
    const { sql } = database;
    const scene = await aScene(sql);
    const names = ["unused", "new", "resting", "idle", "alive", "waiting"] as const;
    const clients = Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, (await aClient(sql, { origin: "dynamic" })).clientId] as const)),
    );
    const set = (name: string, what: string) => run(`update clients set ${what} where client_id = '${clients[name]}'`);
    await set("unused", "created_at = now() - interval '25 hours'");
    await set("waiting", "created_at = now() - interval '25 hours'");
    await auditLog(sql).recordIssue(anAudit("token.issued", { clientId: clients.waiting ?? "" })); // which no sealer has seen
    await set("resting", "created_at = now() - interval '99 days', last_used_at = now() - interval '29 days'");
    await set("idle", "created_at = now() - interval '99 days', last_used_at = now() - interval '31 days'");
    const alive = { ...scene, clientId: clients.alive ?? "" };
    await grants(sql).open(aGrant(alive), aFamily(), scene.sessionId, anAudit("token.issued"));
    await set("alive", "created_at = now() - interval '99 days', last_used_at = now() - interval '31 days'");
    await run(`update clients set created_at = now() - interval '99 days' where client_id = '${scene.clientId}'`);
    await consents(sql).give(
      {
        id: anId(),
        userId: scene.userId,
        clientId: clients.idle ?? "",
        clientName: "x",
        scopes: [],
        resources: [],
        sessionId: scene.sessionId,
      },
      anAudit("consent.given"),
    );
    await sweep(sql);
    const left = await run<{ client_id: string }>("select client_id from clients where origin = 'dynamic'");
    expect(left.map(({ client_id }) => client_id).sort()).toEqual([clients.new, clients.resting, clients.alive, clients.waiting].sort());
    expect((await consents(sql).ofUser(scene.userId)).map(({ clientId }) => clientId)).toEqual([scene.clientId]);
    expect((await auditOf(sql, "client.deleted")).map(({ client_id }) => client_id).sort()).toEqual([clients.unused, clients.idle].sort());
    await sessions(sql).endOne(scene.sessionId, scene.userId, anAudit("session.ended"));
  });
});
