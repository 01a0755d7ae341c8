import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

/** Somewhere for a server under measurement to keep its data, empty at first. */
export interface Storage {
  /** The settings that point a server there. */
  readonly env: NodeJS.ProcessEnv;
  /** Has PostgreSQL count its tables, as autovacuum does each minute. Until then it plans for tables that are empty. */
  analyze(): Promise<void>;
  drop(): Promise<void>;
}

/** PostgreSQL at BENCH_DATABASE_URL (and Redis at BENCH_REDIS_URL) where they are given, else the embedded database. */
export const STORAGE = process.env.BENCH_DATABASE_URL === undefined ? "embedded" : "PostgreSQL";

/** An empty directory, and on PostgreSQL a database of its own. */
export async function emptyStorage(kind = STORAGE): Promise<Storage> {
  const dir = mkdtempSync(join(tmpdir(), "countersign-bench-"));
  const dropDir = async (): Promise<void> => rmSync(dir, { recursive: true, force: true });
  const { BENCH_DATABASE_URL: server, BENCH_REDIS_URL: redis } = process.env;
  if (kind === "embedded" || server === undefined) return { env: { DATA_DIR: dir }, analyze: async () => undefined, drop: dropDir };
  const name = `countersign_bench_${randomBytes(6).toString("hex")}`;
  await administer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    env: { DATA_DIR: dir, DATABASE_URL: url.href, ...(redis !== undefined && { REDIS_URL: redis }) },
    analyze: () => administer(url.href, "analyze"),
    async drop() {
      await administer(server, `drop database ${name} with (force)`);
      await dropDir();
    },
  };
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
