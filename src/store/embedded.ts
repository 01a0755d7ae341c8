import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PGlite, Transaction } from "@electric-sql/pglite";
import { asUnavailable, repeatedOnce, storageUnavailable } from "./availability.ts";
import { lockDirectory } from "./directory-lock.ts";
import type { Parameter, Sql, Statement } from "./sql.ts";

export type EmbeddedDatabase = { readonly pglite: PGlite; close(): Promise<void> };

/**
 * The embedded PostgreSQL, in memory or under `dir`/pg, which is locked until it is closed. An interrupted first start leaves a marker
 * file; its directory holds no data yet and is created again.
 * @throws {Error} when the directory is in use
 */
export async function embeddedDatabase(dir?: string): Promise<EmbeddedDatabase> {
  const lock = dir === undefined ? undefined : lockDirectory(dir);
  try {
    const pglite = await (dir === undefined ? pgliteInMemory() : pgliteIn(join(dir, "pg"), join(dir, "pg.beginning")));
    return {
      pglite,
      close: async () => {
        if (!pglite.closed) await pglite.close();
        lock?.close();
      },
    };
  } catch (error) {
    lock?.close();
    throw error;
  }
}

async function pgliteIn(dataDir: string, marker: string): Promise<PGlite> {
  if (existsSync(marker)) rmSync(dataDir, { recursive: true, force: true });
  if (!existsSync(dataDir)) {
    writeFileSync(marker, "", { mode: 0o600 });
    // Unpacking a prepared cluster takes a tenth of the time of initdb, and a fifth of unpacking through PGlite's file system.
    const [{ unpack }, cluster] = await Promise.all([import("./unpack.ts"), blankCluster()]);
    await unpack(new Uint8Array(await cluster.arrayBuffer()), dataDir);
    rmSync(marker);
  }
  const { PGlite } = await import("@electric-sql/pglite");
  // Without this file PGlite would take the directory for a new one and overwrite it.
  if (!existsSync(join(dataDir, "PG_VERSION"))) throw damaged(dataDir);
  try {
    return await PGlite.create({ dataDir });
  } catch (cause) {
    throw damaged(dataDir, cause);
  }
}

const damaged = (dataDir: string, cause?: unknown): Error =>
  new Error(
    `DATA_DIR: the database files under ${dataDir} are damaged and were left as they are; restore the directory from a backup, or move it away to begin with an empty database.`,
    { cause },
  );

async function pgliteInMemory(): Promise<PGlite> {
  const [{ PGlite }, loadDataDir] = await Promise.all([import("@electric-sql/pglite"), blankCluster()]);
  return PGlite.create({ loadDataDir });
}

const blankCluster = async (): Promise<Blob> => {
  const { dataDir } = await import("@electric-sql/pglite-prepopulatedfs");
  return dataDir();
};

async function run<Row>(on: PGlite | Transaction, { text }: Statement, parameters: readonly Parameter[]): Promise<Row[]> {
  try {
    return (await on.query<Row>(text, [...parameters])).rows;
  } catch (error) {
    throw asUnavailable(error);
  }
}

/**
 * The embedded database: one connection, on which statements and transactions wait for each other. Inside a transaction only its `tx` may
 * be used; any other statement would deadlock.
 */
export const pgliteSql = (database: PGlite): Sql => ({
  query: (statement, parameters) => repeatedOnce(() => run(database, statement, parameters)),
  transaction: async (work) => {
    if (database.closed) throw storageUnavailable(new Error("the embedded database is closed"));
    return repeatedOnce(() => database.transaction((tx) => work({ query: (statement, parameters) => run(tx, statement, parameters) })));
  },
});
