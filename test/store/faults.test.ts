import { rmSync } from "node:fs";
import pg from "pg";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { readiness } from "../../src/store/availability.ts";
import { clientDirectory } from "../../src/store/clients.ts";
import { type Database, openDatabase } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { statement } from "../../src/store/sql.ts";
import { aHash, anAudit } from "../support/accounts.ts";
import { freshDataDir } from "../support/data-directory.ts";
import { runText } from "../support/database.ts";
import { anOpenFamily, aScene } from "../support/grants.ts";
import { emptyPostgresDatabase, TEST_DATABASE_URL } from "../support/postgres.ts";
import { type Wire, wireTo } from "../support/wire.ts";

const unavailable = { code: "temporarily_unavailable", reason: "storage_unavailable", detail: { retryAfter: 5 } };
const sleep = (seconds: number) => statement("test_sleep", `select 1 as one from pg_sleep(${seconds})`);

test("a closed embedded database is reported as temporarily_unavailable", async () => {
  const dir = await freshDataDir();
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const database = await openDatabase({ dir });
  const directory = clientDirectory(database.sql);
  await database.close();
  await expect(directory.byClientId("countersign")).rejects.toMatchObject(unavailable);
  await expect(database.sql.transaction(async () => 1)).rejects.toMatchObject(unavailable);
  await expect(refreshFamilies(database.sql).holding(aHash())).rejects.toMatchObject(unavailable);
});

test("an unreachable server is reported as temporarily_unavailable", async () => {
  await expect(openDatabase({ url: "postgresql://unknown@127.0.0.1:1/none" })).rejects.toMatchObject(unavailable);
});

if (TEST_DATABASE_URL !== undefined)
  describe("PostgreSQL out of reach", () => {
    let closing: (() => Promise<unknown>)[] = [];
    afterEach(async () => {
      for (const close of closing.reverse()) await close();
      closing = [];
    });

    async function overWire(poolSize = 8): Promise<{ database: Database; wire: Wire; url: string }> {
      const { url, drop } = await emptyPostgresDatabase(TEST_DATABASE_URL as string);
      closing.push(drop);
      const through = new URL(url);
      const wire = await wireTo(through.hostname, Number(through.port === "" ? 5432 : through.port));
      closing.push(wire.close);
      through.hostname = "127.0.0.1";
      through.port = String(wire.port);
      const database = await openDatabase({ url: through.href, pool: { size: poolSize } });
      closing.push(database.close);
      return { database, wire, url };
    }

    test("a connection lost during a statement is reported as temporarily_unavailable, and calls succeed once it is restored", async () => {
      const { database, wire } = await overWire();
      const { family } = await anOpenFamily(database.sql, await aScene(database.sql));
      const families = refreshFamilies(database.sql);
      await clientDirectory(database.sql).byClientId("countersign");
      const under = database.sql.query(sleep(1), []).catch((error: unknown) => error);
      const sleeps = "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
      await expect.poll(() => runText(database.sql, sleeps)).toHaveLength(1);
      await wire.cut();
      expect(await under).toMatchObject(unavailable);
      await expect(families.rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 60 }, anAudit("token.issued"))).rejects.toMatchObject(
        unavailable,
      );
      await expect(families.holding(family.tokenHash)).rejects.toMatchObject(unavailable);
      await expect(database.sql.transaction((tx) => tx.query(sleep(0), []))).rejects.toMatchObject(unavailable);
      await wire.mend();
      expect(await families.holding(family.tokenHash)).toMatchObject({ usedAt: null });
    });

    test.for([
      ["admits no connections", (name: string) => [`${name} with allow_connections false`, `${name} with allow_connections true`]],
      ["has another name", (name: string) => [`${name} rename to ${name}_away`, `${name}_away rename to ${name}`]],
    ] as const)("a database that %s is reported as temporarily_unavailable", async ([, changes]) => {
      const { database, url } = await overWire();
      const name = new URL(url).pathname.slice(1);
      const [away, back] = changes(name);
      const server = new pg.Client({ connectionString: TEST_DATABASE_URL });
      await server.connect();
      closing.push(() => server.end());
      await server.query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1", [name]);
      await server.query(`alter database ${away}`);
      await expect(readiness(database.sql).ping()).rejects.toMatchObject(unavailable);
      await expect(database.sql.transaction((tx) => tx.query(sleep(0), []))).rejects.toMatchObject(unavailable);
      await server.query(`alter database ${back}`);
      await readiness(database.sql).ping();
    });

    test("a connection that stops responding is given up at the deadline", async () => {
      const { database, wire } = await overWire();
      await readiness(database.sql).ping();
      wire.hold();
      await expect(readiness(database.sql).ping()).rejects.toMatchObject(unavailable); // nothing but the deadline ends this call
      await wire.mend();
      await readiness(database.sql).ping();
    });

    test("a statement past its deadline is reported as temporarily_unavailable, and its connection returns to the pool", async () => {
      const { database } = await overWire(1);
      await expect(database.sql.query(sleep(10), [])).rejects.toMatchObject(unavailable);
      await readiness(database.sql).ping();
    });

    test("when all connections are in use, a call waits only briefly before temporarily_unavailable", async () => {
      const { database } = await overWire(1);
      const [taken, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const long = database.sql.transaction(async () => {
        taken.resolve();
        await left.promise;
      });
      await taken.promise;
      await expect(readiness(database.sql).ping()).rejects.toMatchObject(unavailable);
      left.resolve();
      await long;
      await readiness(database.sql).ping();
    });

    test("a failed transaction is rolled back, and its connection stays usable", async () => {
      const { database } = await overWire(1);
      const rename = statement("test_rename", "update realms set name = 'other'");
      const broken = statement("test_broken", "select 1 / 0 as one");
      await expect(
        database.sql.transaction(async (tx) => {
          await tx.query(rename, []);
          await tx.query(broken, []);
        }),
      ).rejects.toMatchObject({ code: "22012" });
      expect(await database.sql.query(statement("test_names", "select name from realms"), [])).toEqual([{ name: "default" }]);
    });

    test("two transactions that deadlock are retried until both commit", async () => {
      const { database } = await overWire();
      const { sql } = database;
      await sql.query(statement("test_two", "insert into realms (name) values ('a'), ('b')"), []);
      const touch = (name: string) =>
        statement(`test_touch_${name}`, `update realms set dynamic_registration_scopes = '{x}' where name = '${name}'`);
      let tries = 0;
      const held = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() };
      const both = (...order: ["a", "b"] | ["b", "a"]) =>
        sql.transaction(async (tx) => {
          tries += 1;
          await tx.query(statement("test_patience", "set local lock_timeout = '5s'"), []);
          const [first, second] = order;
          order.reverse(); // a second try waits for the other one first, and cannot take from it what it waits for
          await tx.query(touch(first), []);
          held[first].resolve();
          await held[second].promise;
          await tx.query(touch(second), []);
        });
      await Promise.all([both("a", "b"), both("b", "a")]);
      expect(tries).toBeGreaterThan(2);
    });

    test("sets durability, isolation and timeouts on every connection, whatever database and URL say", async () => {
      const { url, drop } = await emptyPostgresDatabase(TEST_DATABASE_URL as string);
      closing.push(drop);
      const server = new pg.Client({ connectionString: TEST_DATABASE_URL });
      await server.connect();
      closing.push(() => server.end());
      const settings = [
        "synchronous_commit",
        "lock_timeout",
        "statement_timeout",
        "idle_in_transaction_session_timeout",
        "idle_session_timeout",
        "default_transaction_isolation",
        "extra_float_digits",
        "standard_conforming_strings",
        "array_nulls",
        "application_name",
        "geqo",
      ];
      const name = new URL(url).pathname.slice(1);
      await server.query(`alter database ${name} set idle_session_timeout = '10s'`);
      await server.query(`alter database ${name} set default_transaction_isolation = 'repeatable read'`);
      await server.query(`alter database ${name} set extra_float_digits = -10`);
      await server.query(`alter database ${name} set standard_conforming_strings = off`);
      await server.query(`alter database ${name} set array_nulls = off`);
      const parameters = new URLSearchParams({
        options: "-c synchronous_commit=off -c geqo=off",
        statement_timeout: "0",
        application_name: "of the URL",
      });
      const database = await openDatabase({ url: `${url}?${parameters}` });
      closing.push(database.close);
      const shown = await database.sql.query<{ name: string; setting: string }>(
        statement("test_settings", "select name, setting from pg_settings where name = any($1::text[])"),
        [settings],
      );
      expect(Object.fromEntries(shown.map(({ name, setting }) => [name, setting]))).toEqual({
        synchronous_commit: "on",
        lock_timeout: "500",
        statement_timeout: "2000",
        idle_in_transaction_session_timeout: "5000",
        idle_session_timeout: "0",
        default_transaction_isolation: "read committed",
        extra_float_digits: "1",
        standard_conforming_strings: "on",
        array_nulls: "on",
        // What else the URL says counts.
        application_name: "of the URL",
        geqo: "off",
      });
    });
  });
