import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Migrator } from "@mikro-orm/migrations";
import type { MikroORM } from "@mikro-orm/sql";
import { mayBeRepeated, translated } from "./availability.ts";
import { type Sql, statement } from "./sql.ts";

const DIRECTORY = new URL("migrations/", import.meta.url);

/** The names of all migrations, oldest first. A released name is never reused. */
export const MIGRATIONS = readdirSync(DIRECTORY)
  .map((file) => basename(file, ".sql"))
  .sort();

/** The statements of a migration, which blank lines separate. */
export const statementsOf = (migration: string): string[] => readFileSync(new URL(`${migration}.sql`, DIRECTORY), "utf8").split("\n\n");

export const MIGRATION_TABLE = "schema_migrations";

const TABLE = statement("migration_table", "select to_regclass($1) is not null as exists");
const APPLIED = statement("migrations_applied", `select name from ${MIGRATION_TABLE}`);

/**
 * Whether every migration of this release has run, without loading the migration tooling. A newer schema is current too, since consecutive
 * releases run side by side on it (rule R10).
 */
export async function isCurrent(sql: Sql): Promise<boolean> {
  const [table] = await sql.query<{ exists: boolean }>(TABLE, [MIGRATION_TABLE]);
  if (table?.exists !== true) return false;
  const applied = new Set((await sql.query<{ name: string }>(APPLIED, [])).map((row) => row.name));
  return MIGRATIONS.every((name) => applied.has(name));
}

/** The advisory lock of migrations, a number used for nothing else. */
const LOCK = 7_235_107_481;
/** Milliseconds to wait for another process's migration. */
const PATIENCE = 60_000;
/** How often a migration is begun again that had one table and waited for another, while a request had that one and waited for the first. */
const REPETITIONS = 20;

/**
 * Lets revocation events become visible now whose transactions this cluster has not had. A restore brought them from one with higher ids, and
 * they would follow every cursor, so that each look for new ones read all of them.
 */
const RESTORED = `update revocation_events set xid = pg_current_xact_id()::text::bigint
  where xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint`;

/**
 * Runs pending migrations. On PostgreSQL one process at a time does so; the others wait and then find nothing left.
 * @param url of the PostgreSQL server; undefined for the embedded database
 */
export async function applyMigrations(orm: MikroORM, url?: string): Promise<readonly string[]> {
  const { migrator } = orm as MikroORM & { readonly migrator: Migrator };
  const up = async (repetitions = REPETITIONS): Promise<readonly string[]> => {
    const pending = await migrator.getPending();
    try {
      await migrator.up();
    } catch (error) {
      if (repetitions === 0 || !mayBeRepeated(error)) throw error;
      await up(repetitions - 1);
    }
    return pending.map(({ name }) => name);
  };
  if (url === undefined) return up();
  const { default: pg } = await import("pg");
  const keeper = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  keeper.on("error", () => undefined); // of a connection that is lost during the migration; the next statement gets it
  const run = (text: string) => translated(() => keeper.query(text));
  await keeper.connect();
  try {
    // Held by a transaction, which keeps its connection of the server behind a pooler too.
    await run(
      `begin; set local lock_timeout = ${PATIENCE}; set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0`,
    );
    await run(`select pg_advisory_xact_lock(${LOCK})`);
    const applied = await up();
    await run(`${RESTORED}; commit`);
    return applied;
  } finally {
    await keeper.end();
  }
}
