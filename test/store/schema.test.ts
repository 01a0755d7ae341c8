import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/store/orm.ts";
import { statement } from "../../src/store/sql.ts";
import { aDataDir } from "../support/data-directory.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { emptyPostgresDatabase, TEST_DATABASE_URL } from "../support/postgres.ts";

test.for(databaseKinds)("the migrations create the schema that the entities describe, on $name", async ({ fresh }) => {
  const database = await fresh();
  try {
    // Only where PostgreSQL has pg_trgm.
    await runText(database.sql, "drop index if exists clients_search_index, users_search_index, workload_identities_search_index");
    const orm = await database.orm();
    expect(await orm.schema.getUpdateSchemaSQL({ wrap: false })).toBe("");
    expect(await database.migrate()).toEqual([]);
  } finally {
    await database.close();
  }
});

test.for(databaseKinds)("each migration is a transaction of its own on $name: its locks last no longer than itself", async ({ name }) => {
  const dir = aDataDir();
  const postgres = name === "embedded" ? undefined : await emptyPostgresDatabase(TEST_DATABASE_URL as string);
  const database = await openDatabase(postgres ?? { dir });
  try {
    // The time of a row is that of its transaction's start.
    const times = await runText(database.sql, "select distinct executed_at from schema_migrations");
    expect(times.length).toBeGreaterThan(1);
  } finally {
    await database.close();
    await postgres?.drop();
    rmSync(dir, { recursive: true });
  }
});

test.for(databaseKinds)("generated keys are UUIDv7 in ascending order, on $name", async ({ fresh }) => {
  const database = await fresh();
  try {
    const rows = await database.sql.query<{ id: string; ms: number }>(
      statement(
        "test_ids",
        "select uuid_v7()::text as id, (extract(epoch from clock_timestamp()) * 1000)::float8 as ms from generate_series(1, 50)",
      ),
      [],
    );
    for (const { id, ms } of rows) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(Math.abs(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16) - ms)).toBeLessThan(5_000);
    }
    expect(new Set(rows.map(({ id }) => id)).size).toBe(50);

    const generated: string[] = [];
    for (let count = 0; count < 50; count++) {
      const [row] = await database.sql.query<{ id: string }>(statement("test_id", "select uuid_v7()::text as id"), []);
      generated.push(row?.id ?? "");
    }
    // The clock of the embedded database has millisecond resolution; within one millisecond the rest of the id is random.
    const stamps = generated.map((id) => id.slice(0, "01234567-89ab-7cde".length));
    expect(stamps.toSorted()).toEqual(stamps);
  } finally {
    await database.close();
  }
});

if (TEST_DATABASE_URL !== undefined)
  test("four processes that start on an empty PostgreSQL at once all migrate successfully", async () => {
    const { url, drop } = await emptyPostgresDatabase(TEST_DATABASE_URL as string);
    try {
      await expect(openDatabase({ url, migrate: false })).rejects.toThrow("not current");
      const opened = await Promise.all([1, 2, 3, 4].map(() => openDatabase({ url })));
      const [first] = opened;
      expect(await first?.sql.query(statement("test_realms", "select name from realms"), [])).toEqual([{ name: "default" }]);
      await Promise.all(opened.map((database) => database.close()));
      const again = await openDatabase({ url, migrate: false });
      await again.close();
    } finally {
      await drop();
    }
  });
