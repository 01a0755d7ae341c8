import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditPartitions, releaseAuditLimit } from "../../src/store/audit-partitions.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { auditTrail, firstId } from "../../src/store/audit-trail.ts";
import type { Database } from "../../src/store/orm.ts";
import { type Parameter, type Sql, type Statement, statement } from "../../src/store/sql.ts";
import { anAudit } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const DAY = 86_400;
const KEEP_DAYS = 30;
const idOf = (moment: number): string => `${firstId(moment).slice(0, 12)}7000800000000000000a`;

describe.for(databaseKinds)("the partitions of the audit trail on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  const run = <Row>(text: string) => runText<Row>(database.sql, text);
  const partitions = () => auditPartitions(database.sql, async (text) => (await database.orm()).em.getConnection().execute(text));
  const rangesOf = (table: string) =>
    run<{ name: string; bound: string }>(
      `select child.relname as name, pg_get_expr(child.relpartbound, child.oid) as bound from pg_inherits join pg_class child on child.oid = inhrelid
       where inhparent = '${table}'::regclass order by child.relname`,
    );
  const names = async () => {
    const ranges = await rangesOf("audit_records");
    expect((await rangesOf("audit_links")).map(({ name, bound }) => ({ name: name.replace("links", "records"), bound }))).toEqual(ranges);
    return ranges.map(({ name, bound }) => [name, bound === "DEFAULT" ? "default" : "range"].join(" "));
  };
  const whereOf = async (requestId: string) =>
    (await run<{ name: string }>(`select tableoid::regclass::text as name from audit_records where request_id = '${requestId}'`)).map(
      ({ name }) => name,
    );
  /** A record with the id of a moment. */
  const write = (requestId: string, moment = Date.now() / 1000) =>
    auditLog(database.sql).record({ ...anAudit("token.refused", { requestId }), id: idOf(moment) } as never);
  const seal = async () => {
    while ((await auditSealer(database.sql, undefined).seal()) > 0);
  };

  test("without AUDIT_KEEP_DAYS there is one partition, which has all records", async () => {
    await write("before");
    await seal();
    expect([await names(), await whereOf("before")]).toEqual([["audit_records_first default"], ["audit_records_first"]]);
  });

  test("of several processes that add ranges at once each step is taken once", async () => {
    await Promise.all([1, 2, 3].map(() => partitions().extend(KEEP_DAYS)));
    await partitions().extend(KEEP_DAYS);
    expect(await names()).toEqual(["audit_records_default default", "audit_records_first range"]);
    await write("now");
    expect([await whereOf("before"), await whereOf("now")]).toEqual([["audit_records_first"], ["audit_records_first"]]);
  });

  test("a record that no range holds is in the default partition", async () => {
    await write("far ahead", Date.now() / 1000 + 10 * DAY);
    expect(await whereOf("far ahead")).toEqual(["audit_records_default"]);
  });

  test("all records are sealed, listed newest first and protected, whichever partition they are in", async () => {
    await seal();
    const { items } = await auditTrail(database.sql).list({}, { limit: 10 });
    expect(items.map(({ requestId, link }) => [requestId, link?.seq])).toEqual([
      ["far ahead", 3],
      ["now", 2],
      ["before", 1],
    ]);
    for (const text of [
      "update audit_records set reason = 'another'",
      "delete from audit_records",
      "delete from audit_records_default",
      "delete from audit_records_first",
      "truncate audit_records",
      "truncate audit_records_default",
      "update audit_links set seq = 1",
      "delete from audit_links_default",
      "delete from audit_links_first",
      "truncate audit_links_default",
    ])
      await expect(run(text), text).rejects.toMatchObject({ code: "23001" });
  });

  test("a limit that a process left behind is removed before it refuses a record", async () => {
    await run(
      `alter table audit_records_default add constraint audit_records_limit check (id < '${firstId(Date.now() / 1000 + 11 * DAY)}') not valid`,
    );
    await releaseAuditLimit(database.sql);
    expect(await run("select 1 from pg_constraint where conname = 'audit_records_limit'")).toHaveLength(1);
    await run("alter table audit_records_default drop constraint audit_records_limit");
    await run(
      `alter table audit_records_default add constraint audit_records_limit check (id < '${firstId(Date.now() / 1000 + DAY)}') not valid`,
    );
    await releaseAuditLimit(database.sql);
    expect(await run("select 1 from pg_constraint where conname = 'audit_records_limit'")).toEqual([]);
  });

  test("a filled default partition becomes a range, also where an earlier release has limited records alone", async () => {
    await run(
      `alter table audit_records_default add constraint audit_records_limit check (id < '${firstId(Date.now() / 1000 + 20 * DAY)}') not valid`,
    );
    await partitions().extend(365);
    expect(await names()).toEqual([
      "audit_records_default default",
      "audit_records_first range",
      expect.stringMatching(/^audit_records_until_\d{8} range$/),
    ]);
    expect(await whereOf("far ahead")).toEqual([expect.stringMatching(/^audit_records_until_/)]);
  });
});

describe.for(databaseKinds)("a process that proves a limit on $name", ({ fresh }) => {
  test("goes on when another one has taken the next step before it", async () => {
    const { sql, orm, close } = await fresh();
    const execute = async (text: string) => (await orm()).em.getConnection().execute(text);
    const other = auditPartitions(sql, execute);
    let overtaken = 0;
    try {
      await auditPartitions(sql, async (text) => {
        overtaken += 1;
        await other.extend(KEEP_DAYS);
        return execute(text);
      }).extend(KEEP_DAYS);
      expect(overtaken).toBe(1);
      expect(await runText(sql, "select count(*)::int as partitions from pg_inherits where inhparent = 'audit_records'::regclass")).toEqual(
        [{ partitions: 2 }],
      );
    } finally {
      await close();
    }
  });

  test("reports every other error of the database", async () => {
    const { sql, close } = await fresh();
    try {
      const failing = auditPartitions(sql, async () => Promise.reject(Object.assign(new Error("disk full"), { code: "53100" })));
      await expect(failing.extend(KEEP_DAYS)).rejects.toThrow("disk full");
    } finally {
      await close();
    }
  });
});

/** A database that notes, after each statement of a transaction, which tables it keeps others from reading. */
function noticingLocks(sql: Sql, noted: string[][]): Sql {
  const locks = statement(
    "",
    `select relation::regclass::text as name from pg_locks
     where pid = pg_backend_pid() and locktype = 'relation' and mode = 'AccessExclusiveLock'`,
  );
  return {
    ...sql,
    transaction: (work) =>
      sql.transaction((tx) =>
        work({
          async query<Row>(text: Statement, parameters: readonly Parameter[]) {
            const rows = await tx.query<Row>(text, parameters);
            noted.push((await tx.query<{ name: string }>(locks, [])).map(({ name }) => name));
            return rows;
          },
        }),
      ),
  };
}

describe.for(databaseKinds)("old partitions of the audit trail on $name", ({ fresh }) => {
  test("a range is dropped when the trail begins behind its last record, and not before, and is locked after its table, as by readers", async () => {
    const noted: string[][] = [];
    const { sql: plain, orm, close } = await fresh();
    const sql = noticingLocks(plain, noted);
    const run = <Row>(text: string) => runText<Row>(sql, text);
    const partitions = auditPartitions(sql, async (text) => (await orm()).em.getConnection().execute(text));
    const now = Date.now() / 1000;
    const write = (moment: number) => auditLog(sql).record({ ...anAudit("token.refused"), id: idOf(moment) } as never);
    try {
      await partitions.extend(KEEP_DAYS);
      const bound = (days: number) => `'${firstId(now - days * DAY)}'`;
      for (const table of ["audit_records", "audit_links"]) {
        await run(`alter table ${table} detach partition ${table}_first`);
        await run(`alter table ${table} attach partition ${table}_first for values from (minvalue) to (${bound(200)})`);
        await run(`create table ${table}_until_old (like ${table}_first including all)`);
        await run(`alter table ${table} attach partition ${table}_until_old for values from (${bound(200)}) to (${bound(100)})`);
      }
      await partitions.extend(KEEP_DAYS);
      for (const [n, days] of [150, 149, 148, 0, 0].entries()) await write(now - days * DAY + n / 1000);
      while ((await auditSealer(sql, undefined).seal()) > 0);
      await run("insert into audit_checkpoints (seq, hash, kid, jws) select seq, hash, 'k', 'j' from audit_links where seq in (3, 4)");

      await run("update audit_start set seq = 3");
      expect(await partitions.drop()).toBe(0);
      await run("update audit_start set seq = 4");
      noted.length = 0;
      expect(await Promise.all([1, 2, 3].map(() => partitions.drop())).then((all) => all.toSorted())).toEqual([0, 0, 3]);
      const tablesOf = (locked: string[]) => ["audit_records", "audit_links"].filter((table) => locked.includes(table));
      expect(noted.map(tablesOf)).toContainEqual(["audit_records", "audit_links"]);
      for (const locked of noted)
        for (const table of ["audit_records", "audit_links"])
          if (locked.includes(`${table}_until_old`)) expect(tablesOf(locked)).toContain(table);
      expect(await run("select seq::int as seq from audit_records join audit_links using (id) order by seq")).toEqual([
        { seq: 4 },
        { seq: 5 },
      ]);
      await write(now - 150 * DAY); // of a clock that is wrong
      expect((await auditTrail(sql).list({}, { limit: 10 })).items).toHaveLength(3);
    } finally {
      await close();
    }
  });
});
