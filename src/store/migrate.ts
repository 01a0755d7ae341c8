import type { Migrator } from "@mikro-orm/migrations";
import type { MikroORM } from "@mikro-orm/sql";
import { MIGRATION_TABLE, MIGRATIONS } from "./migrations/all.ts";
import { type Sql, statement } from "./sql.ts";

const TABLE = statement("migration_table", "select to_regclass($1) is not null as exists");
const APPLIED = statement("migrations_applied", `select name from ${MIGRATION_TABLE}`);

/**
 * Whether every migration of this release has run: two short queries, no tooling loaded. A schema that is ahead of us is current too,
 * for releases that follow one another run side by side on the newer schema (rule R10).
 */
export async function isCurrent(sql: Sql): Promise<boolean> {
  const [table] = await sql.query<{ exists: boolean }>(TABLE, [MIGRATION_TABLE]);
  if (table?.exists !== true) return false;
  const applied = new Set((await sql.query<{ name: string }>(APPLIED, [])).map((row) => row.name));
  return MIGRATIONS.every(({ name }) => applied.has(name));
}

/** Any number will do, if nobody else in the database takes it. */
const LOCK = 7_235_107_481;
/** Milliseconds for another process to finish its migration. */
const PATIENCE = 60_000;

/**
 * Runs what has not run yet. On PostgreSQL one process at a time does so; the others wait and then find nothing left to do.
 * @param url the server, when it is one
 */
export async function applyMigrations(orm: MikroORM, url?: string): Promise<readonly string[]> {
  const up = async () => (await (orm as MikroORM & { readonly migrator: Migrator }).migrator.up()).map(({ name }) => name);
  if (url === undefined) return up();
  const { default: pg } = await import("pg");
  const keeper = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000, lock_timeout: PATIENCE });
  await keeper.connect();
  try {
    await keeper.query("select pg_advisory_lock($1)", [LOCK]);
    return await up();
  } finally {
    await keeper.end();
  }
}
