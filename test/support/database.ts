import { createHash, randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type Database, openDatabase } from "../../src/store/orm.ts";
import { type Parameter, type Sql, statement } from "../../src/store/sql.ts";

/** A kind of database on which the storage-facing suites run: the embedded one always, PostgreSQL when TEST_DATABASE_URL names a server. */
export interface DatabaseKind {
  readonly name: "embedded" | "postgresql";
  /** A database of its own with the current schema and nothing in it but what the migrations bring. Closing it removes it. */
  fresh(): Promise<Database>;
}

const MIGRATIONS = new URL("../../src/store/migrations/", import.meta.url);

/** A migrated data directory, made once for each state of the migrations and kept between runs. */
async function template(): Promise<string> {
  const digest = createHash("sha256").update(readFileSync(new URL("../../package.json", import.meta.url))); // the version of PGlite
  for (const file of readdirSync(MIGRATIONS).sort()) digest.update(readFileSync(new URL(file, MIGRATIONS)));
  const path = join(tmpdir(), `countersign-test-template-${digest.digest("hex").slice(0, 16)}`);
  if (existsSync(path)) return path;
  const making = mkdtempSync(join(tmpdir(), "countersign-test-making-"));
  await (await openDatabase({ dir: making })).close();
  try {
    renameSync(making, path);
  } catch {
    rmSync(making, { recursive: true, force: true }); // another worker was first
  }
  return path;
}

/** A data directory with a migrated, empty database, for a server or for freshDatabase. */
export async function freshDataDir(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "countersign-test-"));
  cpSync(await template(), dir, { recursive: true });
  return dir;
}

const removing = (database: Database, remove: () => Promise<void> | void): Database => ({
  ...database,
  close: async () => {
    await database.close();
    await remove();
  },
});

export async function freshEmbedded(): Promise<Database> {
  const dir = await freshDataDir();
  return removing(await openDatabase({ dir }), () => rmSync(dir, { recursive: true, force: true }));
}

async function asAdministrator(server: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    for (const each of statements) await client.query(each);
  } finally {
    await client.end();
  }
}

/** An empty database on the server, without a schema. Rings of locks are found there at once, and not after a second: that takes a superuser. */
export async function emptyPostgresDatabase(server: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `countersign_test_${randomBytes(8).toString("hex")}`;
  await asAdministrator(server, `create database ${name}`, `alter database ${name} set deadlock_timeout = '50ms'`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asAdministrator(server, `drop database if exists ${name} with (force)`) };
}

async function freshPostgres(server: string): Promise<Database> {
  const { url, drop } = await emptyPostgresDatabase(server);
  return removing(await openDatabase({ url }), drop);
}

/** Runs a statement of a test's own. */
export const runText = <Row>(sql: Sql, text: string, parameters: readonly Parameter[] = []): Promise<Row[]> =>
  sql.query<Row>(statement(`test_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`, text), parameters);

export const TEST_DATABASE_URL = process.env.TEST_DATABASE_URL;

export const databaseKinds: readonly DatabaseKind[] = [
  { name: "embedded", fresh: freshEmbedded },
  ...(TEST_DATABASE_URL === undefined ? [] : [{ name: "postgresql" as const, fresh: () => freshPostgres(TEST_DATABASE_URL) }]),
];
