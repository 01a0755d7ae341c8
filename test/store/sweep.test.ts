import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { consents } from "../../src/store/consents.ts";
import { detachedSignatures } from "../../src/store/detached-signatures.ts";
import { grants } from "../../src/store/grants.ts";
import type { Database } from "../../src/store/orm.ts";
import { pendingRequests } from "../../src/store/pending-requests.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import { signInFailures } from "../../src/store/sign-in-failures.ts";
import { sweep } from "../../src/store/sweep.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aHash, anAudit, anId, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aClient, aFamily, aGrant, anOpenFamily, aScene, type Scene } from "../support/grants.ts";

describe.for(databaseKinds)("the sweep on $name", ({ fresh }) => {
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
    await refreshFamilies(sql).rotate(family.id, family.tokenHash, aHash(), 3_600, anAudit("token.issued"));
    await pendingRequests(sql).put(aHash(), "x=1", 600, { holder: "", limit: 10 });
    await signInFailures(sql).count(aHash(), 10, 900);
    await tokenStates(sql).revoke(
      { jti: anId(), clientId: scene.clientId },
      Math.floor(Date.now() / 1_000) + 900,
      anAudit("token.revoked"),
    );
    await detachedSignatures(sql).keep(anId(), { alg: "ML-DSA-65", signature: aHash() }, Math.floor(Date.now() / 1_000) + 900);
    await run("insert into consumed_ids values ('client_assertion', decode('00', 'hex'), now() + interval '5 minutes')");
    return scene;
  }

  test("what lives stays; what has expired goes, family tokens and all", async () => {
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

  test("a used code stays for a day past its expiry, so that its replay is known as one", async () => {
    const scene = await aScene(database.sql);
    await anOpenFamily(database.sql, scene);
    await run("update authorization_codes set expires_at = now() - interval '23 hours'");
    await sweep(database.sql);
    expect(await count("authorization_codes")).toBe(1);
  });

  test("large leftovers go in batches", async () => {
    await run(
      "insert into pending_requests (id_hash, query, expires_at) select int4send(n), 'x', now() - interval '1 minute' from generate_series(1, 1100) n",
    );
    const rounds = [await sweep(database.sql), await sweep(database.sql), await sweep(database.sql)];
    expect(rounds.map(({ gone, more }) => [gone, more])).toEqual([
      [500, true],
      [500, true],
      [100, false],
    ]);
  });

  test("sweeps at once take nothing twice and do not wait for each other", async () => {
    await run(
      "insert into pending_requests (id_hash, query, expires_at) select int4send(n), 'y', now() - interval '1 minute' from generate_series(1, 40) n",
    );
    const rounds = await Promise.all(Array.from({ length: 6 }, () => sweep(database.sql)));
    expect(rounds.reduce((sum, { gone }) => sum + gone, 0)).toBe(40);
  });

  test("an open registration goes when it was never used for a day or not for a month, never with a living grant", async () => {
    const { sql } = database;
    const scene = await aScene(sql);
    const names = ["unused", "new", "resting", "idle", "alive"] as const;
    const clients = Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, (await aClient(sql, { origin: "dynamic" })).clientId] as const)),
    );
    const set = (name: string, what: string) => run(`update clients set ${what} where client_id = '${clients[name]}'`);
    await set("unused", "created_at = now() - interval '25 hours'");
    await set("resting", "created_at = now() - interval '99 days', last_used_at = now() - interval '29 days'");
    await set("idle", "created_at = now() - interval '99 days', last_used_at = now() - interval '31 days'");
    const alive = { ...scene, clientId: clients.alive ?? "" };
    await grants(sql).open(aGrant(alive), aFamily(), scene.sessionId, anAudit("token.issued"));
    await set("alive", "created_at = now() - interval '99 days', last_used_at = now() - interval '31 days'");
    await run(`update clients set created_at = now() - interval '99 days' where client_id = '${scene.clientId}'`);
    await consents(sql).give(
      { id: anId(), userId: scene.userId, clientId: clients.idle ?? "", clientName: "x", scopes: [], resources: [] },
      anAudit("consent.given"),
    );
    await sweep(sql);
    const left = await run<{ client_id: string }>("select client_id from clients where origin = 'dynamic'");
    expect(left.map(({ client_id }) => client_id).sort()).toEqual([clients.new, clients.resting, clients.alive].sort());
    expect((await consents(sql).ofUser(scene.userId)).map(({ clientId }) => clientId)).toEqual([scene.clientId]);
    expect((await auditOf(sql, "client.deleted")).map(({ client_id }) => client_id).sort()).toEqual([clients.unused, clients.idle].sort());
    await sessions(sql).end(scene.sessionHash, anAudit("session.ended"));
  });
});
