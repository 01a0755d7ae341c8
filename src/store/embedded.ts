import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import { lockDirectory } from "./directory-lock.ts";

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
