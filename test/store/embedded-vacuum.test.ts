import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { embeddedVacuum } from "../../src/store/embedded.ts";
import type { Database } from "../../src/store/orm.ts";
import { freshEmbedded, runText } from "../support/database.ts";

describe("the vacuum of the embedded database", () => {
  let database: Database;
  beforeEach(async () => {
    database = await freshEmbedded();
  });
  afterEach(() => database.close());

  const run = <Row>(text: string) => runText<Row>(database.sql, text);
  const all = async (turn: () => Promise<string | undefined>): Promise<readonly string[]> => {
    const tables: string[] = [];
    for (let table = await turn(); table !== undefined; table = await turn()) tables.push(table);
    return tables;
  };
  const writeAndDelete = async () => {
    await run(
      "insert into consumed_ids (kind, id_hash, expires_at) select 'test', sha256(i::text::bytea), now() from generate_series(1, 5000) as i",
    );
    await run("delete from consumed_ids");
  };
  const pages = async () => (await run<{ pages: number }>("select (pg_relation_size('consumed_ids') / 8192)::int as pages"))[0]?.pages ?? 0;

  test("the space of deleted rows is used again", async () => {
    const turn = embeddedVacuum(database.sql, { transactions: 0, rest: 0 });
    await writeAndDelete();
    const once = await pages();
    expect(once).toBeGreaterThan(40);
    for (let round = 0; round < 3; round++) {
      for (let table = await turn(); table !== "consumed_ids"; table = await turn());
      await writeAndDelete();
    }
    expect(await pages()).toBeLessThanOrEqual(once);
  });

  test("each table is vacuumed once after a start, and counted for the planner", async () => {
    await run(
      "insert into consumed_ids (kind, id_hash, expires_at) select 'test', sha256(i::text::bytea), now() from generate_series(1, 300) as i",
    );
    const tables = await all(embeddedVacuum(database.sql));
    const existing = await run<{ name: string }>(
      "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
    );
    expect(tables.toSorted()).toEqual(existing.map(({ name }) => name).toSorted());
    expect(await run("select reltuples::int as rows from pg_class where relname = 'consumed_ids'")).toEqual([{ rows: 300 }]);
  });

  test("a table is due again after enough writing transactions, and not before it has rested", async () => {
    let now = 0;
    const turn = embeddedVacuum(database.sql, { transactions: 100, rest: 1_000_000, now: () => ++now });
    const first = await all(turn);
    for (let n = 0; n < 101; n++) await run("select pg_current_xact_id()");
    expect(await turn()).toBe(undefined);
    now += 1e9;
    expect(await all(turn)).toEqual(first);
    now += 1e9;
    expect(await turn()).toBe(undefined);
  });

  test("nothing is vacuumed while the disk is nearly full", async () => {
    await run("set default_transaction_read_only = on");
    expect(await all(embeddedVacuum(database.sql))).toEqual([]);
    await run("set default_transaction_read_only = off");
    expect(await all(embeddedVacuum(database.sql))).not.toEqual([]);
  });
});
