import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readiness } from "../../src/store/availability.ts";
import { assertSpace, guardSpace } from "../../src/store/embedded.ts";
import type { Database } from "../../src/store/orm.ts";
import { sessions } from "../../src/store/sessions.ts";
import { type Sql, statement } from "../../src/store/sql.ts";
import { aHash, anAudit, anId, aUser } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const unavailable = { code: "temporarily_unavailable" };
const diskFull = Object.assign(new Error("could not extend file"), { code: "53100", severity: "ERROR" });

describe.for(databaseKinds)("a database that rejects writes, $name", ({ name, fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  test.for(["a statement", "a transaction"] as const)("writes to know whether it is ready, once %s found its disk full", async (what) => {
    const { sql, full } = database;
    const fails = statement("", "do $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$");
    const failing = what === "a statement" ? sql.query(fails, []) : sql.transaction((tx) => tx.query(fails, []));
    await expect(failing).rejects.toMatchObject(unavailable);
    expect(full.since).toBe(true);
    const isFull: Sql = { ...sql, transaction: () => Promise.reject(diskFull) };
    await expect(readiness(isFull, full).writes()).rejects.toBe(diskFull);
    await readiness(isFull, full).ping();
    await readiness(sql, full).writes();
    expect(full.since).toBe(false);
    await readiness(isFull, full).writes();
  });

  test("is not ready after a full disk while no file can grow, though a row can be written", async () => {
    const noFiles: Sql = {
      ...database.sql,
      transaction: (work) =>
        database.sql.transaction((tx) =>
          work({ query: (one, given) => (one.name === "room_probe" ? Promise.reject(diskFull) : tx.query(one, given)) }),
        ),
    };
    await readiness(database.sql, { since: true }).writes();
    await expect(readiness(noFiles, { since: true }).writes()).rejects.toBe(diskFull);
  });

  test.for(["0", "'1MB'"])("is ready again after a full disk where its role has a temp_file_limit of %s", async (limit) => {
    const limited: Sql = {
      ...database.sql,
      transaction: (work) =>
        database.sql.transaction(async (tx) => {
          await tx.query(statement("", `set local temp_file_limit = ${limit}`), []);
          return work(tx);
        }),
    };
    const full = { since: true };
    await readiness(limited, full).writes();
    expect(full.since).toBe(false);
  });

  if (name === "embedded")
    test("reads but does not write while its disk is nearly full, and writes again when there is room", async () => {
      let free = 47 * 2 ** 20;
      const seen: boolean[] = [];
      const guard = guardSpace(
        database.sql,
        "data",
        (full) => void seen.push(full),
        async () => free,
      );
      const write = () => database.sql.query(statement("test_touch", "update realms set name = name returning 1 as one"), []);
      await guard.look();
      await guard.look();
      await expect(write()).rejects.toMatchObject(unavailable);
      await expect(readiness(database.sql).writes()).rejects.toMatchObject(unavailable);
      await readiness(database.sql).ping();
      free *= 2;
      await guard.look();
      guard.stop();
      expect(await write()).toHaveLength(1);
      expect(seen).toEqual([true, false]);
      await readiness(database.sql).writes();
    });

  test("a data directory on a full disk is refused in one line", async () => {
    await expect(assertSpace("data", async () => 0)).rejects.toThrow(/^DATA_DIR: less than 48 MiB are free on the disk of data; .*\.$/);
    await assertSpace("data", async () => 2 ** 30);
  });

  if (name === "postgresql")
    test("is not ready while it is read-only", async () => {
      const readOnly: Sql = {
        ...database.sql,
        query: (one, parameters) =>
          database.sql.transaction(async (tx) => {
            await tx.query(statement("test_read_only", "set transaction read only"), []);
            return tx.query(one, parameters);
          }),
      };
      await expect(readiness(readOnly).writes()).rejects.toMatchObject(unavailable);
      await readiness(readOnly).ping();
    });

  test("an effect whose audit record cannot be written is rolled back with temporarily_unavailable", async () => {
    const user = await aUser(database.sql);
    await runText(database.sql, "alter table audit_records add constraint test_none check (event <> 'session.started') not valid");
    const id = anId();
    const start = sessions(database.sql).start({ id, hash: aHash(), userId: user.id, ttl: 60 }, anAudit("session.started"));
    await expect(start).rejects.toMatchObject({ ...unavailable, detail: { retryAfter: 5 } });
    expect(await runText(database.sql, "select 1 as one from sessions where id = $1::uuid", [id])).toEqual([]);
    await runText(database.sql, "alter table audit_records drop constraint test_none");
  });
});
