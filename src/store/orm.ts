import type { MikroORM } from "@mikro-orm/sql";
import type { Fullness } from "./availability.ts";
import { embeddedDatabase, embeddedPool, guardSpace, hasEmbedded, type OnDisk } from "./embedded.ts";
import { applyMigrations, isCurrent } from "./migrate.ts";
import type { Sql } from "./sql.ts";
import type { PoolOptions } from "./sql-postgres.ts";

/** A PostgreSQL server, a directory of this process, or (neither) its memory. */
export type DatabaseLocation = { readonly url?: string | undefined; readonly dir?: string | undefined };

/** `migrate` false: a schema that is not current is refused instead of migrated. */
export type DatabaseOptions = DatabaseLocation & { readonly migrate?: boolean; readonly pool?: PoolOptions; readonly onDisk?: OnDisk };

export interface Database {
  readonly kind: "postgresql" | "embedded";
  readonly sql: Sql;
  readonly full: Fullness;
  /**
   * MikroORM over the same database, opened at the first call. For migrations and schema comparisons; never for decisions or transactions
   * (docs/decisions/0006). Lists are composed without a connection (list-query.ts).
   */
  orm(): Promise<MikroORM>;
  /** Migrates the schema; several processes may call it at once. @returns the names of the migrations that ran */
  migrate(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/**
 * Opens the database and migrates its schema, unless `migrate` is false.
 * @throws {Error} when the data directory is in use, or the schema is not current and `migrate` is false
 * @throws {Refusal} temporarily_unavailable when PostgreSQL does not answer
 */
export async function openDatabase({ url, dir, migrate = true, pool, onDisk }: DatabaseOptions): Promise<Database> {
  if (!migrate && url === undefined && dir !== undefined && !hasEmbedded(dir))
    throw new Error(
      `DATA_DIR: there is no database under ${dir}; \`countersign migrate\` makes one, or the start with MIGRATE_ON_START=true.`,
    );
  const database = await connectDatabase({ url, dir }, pool, onDisk);
  try {
    if (await isCurrent(database.sql)) return database;
    if (!migrate)
      throw new Error("the database schema is not current; run `countersign migrate`, or start the server with MIGRATE_ON_START=true");
    await database.migrate();
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Opens the database without checking its schema. */
export const connectDatabase = ({ url, dir }: DatabaseLocation, pool?: PoolOptions, onDisk?: OnDisk): Promise<Database> =>
  url === undefined ? openEmbedded(dir, onDisk) : openPostgres(url, pool);

async function openPostgres(url: string, options: PoolOptions = {}): Promise<Database> {
  const { assertPoolerSettings, migratingSession, postgresPool, postgresSql } = await import("./sql-postgres.ts");
  const pool = postgresPool(url, options);
  const full = { since: false };
  const sql = postgresSql(pool, full, options);
  const init = async () => {
    const [{ MikroORM }, { settings }] = await Promise.all([import("@mikro-orm/postgresql"), import("./orm-settings.ts")]);
    return MikroORM.init({ ...settings, clientUrl: url, driverOptions: migratingSession(url, options), pool: { min: 0, max: 2 } });
  };
  if (options.pooler === "transaction")
    await assertPoolerSettings(sql).catch(async (error: unknown) => {
      await pool.end();
      throw error;
    });
  return databaseOf({ kind: "postgresql", sql, full }, init, () => pool.end(), url);
}

async function openEmbedded(dir: string | undefined, onDisk: OnDisk | undefined): Promise<Database> {
  const { pglite, close } = await embeddedDatabase(dir);
  const init = async () => {
    const [{ MikroORM }, { settings }] = await Promise.all([import("@mikro-orm/pglite"), import("./orm-settings.ts")]);
    return MikroORM.init({ ...settings, dbName: "postgres", driverOptions: { pglite: () => pglite } });
  };
  const [pool, { poolSql }] = await Promise.all([embeddedPool(pglite), import("./sql-postgres.ts")]);
  const full = { since: false };
  const sql = poolSql(pool, full);
  const guard = dir === undefined ? undefined : guardSpace(sql, dir, onDisk);
  return databaseOf({ kind: "embedded", sql, full }, init, async () => {
    guard?.stop();
    await pool.end();
    await close();
  });
}

/** @param init opens MikroORM  @param end closes the connection  @param url of a PostgreSQL server */
function databaseOf(
  over: Pick<Database, "kind" | "sql" | "full">,
  init: () => Promise<MikroORM>,
  end: () => Promise<void>,
  url?: string,
): Database {
  let opened: Promise<MikroORM> | undefined;
  const orm = () => {
    opened ??= init();
    return opened;
  };
  return {
    ...over,
    orm,
    migrate: async () => applyMigrations(await orm(), url),
    close: async () => {
      const made = await opened?.catch(() => undefined);
      await made?.close();
      await end();
    },
  };
}
