import type { PGlite } from "@electric-sql/pglite";
import type { MikroORM } from "@mikro-orm/sql";
import type { Pool } from "pg";
import { embeddedDatabase } from "./embedded.ts";
import { applyMigrations, isCurrent } from "./migrate.ts";
import type { Sql } from "./sql.ts";
import { pgliteSql } from "./sql-pglite.ts";

/** Where the data are: on a PostgreSQL server, in a directory of this process, or (neither) in its memory. */
export interface DatabaseLocation {
  readonly url?: string | undefined;
  readonly dir?: string | undefined;
}

export interface DatabaseOptions extends DatabaseLocation {
  /** False: a schema that is not current is refused instead of being brought up to date. */
  readonly migrate?: boolean;
  /** Connections to PostgreSQL at most. */
  readonly poolSize?: number;
}

export interface Database {
  readonly kind: "postgresql" | "embedded";
  readonly sql: Sql;
  /**
   * The same database through MikroORM, opened at the first call. For migrations and for comparing the schema with the entities; never for
   * decisions, and never with a transaction (docs/decisions/0006). Lists are composed without a connection (list-query.ts).
   */
  orm(): Promise<MikroORM>;
  /** Brings the schema up to date; several processes may ask at once. @returns the names of the migrations that ran */
  migrate(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/**
 * Opens the database and brings its schema up to date, unless `migrate` is false.
 * @throws {Error} when the data directory is in use, or the schema is not current and may not be migrated
 * @throws {Refusal} temporarily_unavailable when PostgreSQL does not answer
 */
export async function openDatabase({ url, dir, migrate = true, poolSize = 8 }: DatabaseOptions): Promise<Database> {
  const database = await connectDatabase({ url, dir }, poolSize);
  try {
    if (await isCurrent(database.sql)) return database;
    if (!migrate) throw new Error("the database schema is not current; run `countersign migrate`, or set MIGRATE_ON_START=true");
    await database.migrate();
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Opens the database without checking its schema, in order to migrate it. */
export const connectDatabase = ({ url, dir }: DatabaseLocation, poolSize = 8): Promise<Database> =>
  url === undefined ? openEmbedded(dir) : openPostgres(url, poolSize);

async function openPostgres(url: string, poolSize: number): Promise<Database> {
  const { postgresPool, postgresSql } = await import("./sql-postgres.ts");
  const pool: Pool = postgresPool(url, poolSize);
  const orm = once(async () => {
    const [{ MikroORM }, { settings }] = await Promise.all([import("@mikro-orm/postgresql"), import("./orm-settings.ts")]);
    return MikroORM.init({ ...settings, clientUrl: url, driverOptions: { connectionString: url }, pool: { min: 0, max: 2 } });
  });
  return {
    kind: "postgresql",
    sql: postgresSql(pool),
    orm: orm.get,
    migrate: async () => applyMigrations(await orm.get(), url),
    close: async () => {
      await orm.end((opened) => opened.close());
      await pool.end();
    },
  };
}

async function openEmbedded(dir: string | undefined): Promise<Database> {
  const embedded = await embeddedDatabase(dir);
  return overPglite(embedded.pglite, embedded.close);
}

/** An open PGlite as a database. @param close closes it */
function overPglite(pglite: PGlite, close: () => Promise<void>): Database {
  const orm = once(async () => {
    const [{ MikroORM }, { settings }] = await Promise.all([import("@mikro-orm/pglite"), import("./orm-settings.ts")]);
    return MikroORM.init({ ...settings, dbName: "postgres", driverOptions: { pglite: () => pglite } });
  });
  return {
    kind: "embedded",
    sql: pgliteSql(pglite),
    orm: orm.get,
    migrate: async () => applyMigrations(await orm.get()),
    close: async () => {
      await orm.end((opened) => opened.close());
      await close();
    },
  };
}

/** Makes a resource at the first call of `get`; `end` closes it if it was made. */
function once<Resource>(make: () => Promise<Resource>): {
  get: () => Promise<Resource>;
  end: (close: (resource: Resource) => Promise<void>) => Promise<void>;
} {
  let resource: Promise<Resource> | undefined;
  return {
    get: () => {
      resource ??= make();
      return resource;
    },
    end: async (close) => {
      const made = await resource?.catch(() => undefined);
      if (made !== undefined) await close(made);
    },
  };
}
