import { createHash, randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type Database, openDatabase } from "../../src/store/orm.ts";
import { type Parameter, type Sql, statement } from "../../src/store/sql.ts";

/** A kind of database on which the storage suites run: always the embedded one, and PostgreSQL when TEST_DATABASE_URL names a server. */
export interface DatabaseKind {
  readonly name: "embedded" | "postgresql";
  /** A new database with the current schema and only the rows of the migrations. Closing it deletes it. */
  fresh(): Promise<Database>;
}

const MIGRATIONS = new URL("../../src/store/migrations/", import.meta.url);

const MEMORY = "/dev/shm";
const NEEDED_BYTES = 4 * 2 ** 30;

/** The parent of data directories: in memory where there is enough of it, in which a copy of the template takes a tenth of the time. */
const BASE = existsSync(MEMORY) && hasRoom(MEMORY) ? MEMORY : tmpdir();

function hasRoom(path: string): boolean {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize > NEEDED_BYTES;
}

const PREFIX = "countersign-test-data-";

/** Removes the directories of killed test runs, which nothing else would remove. */
function removeAbandoned(): void {
  for (const name of readdirSync(BASE)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split("-", 1)[0]) : Number.NaN;
    if (pid > 0 && !isAlive(pid)) rmSync(join(BASE, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** An empty data directory. */
export const aDataDir = (): string => mkdtempSync(join(BASE, `${PREFIX}${process.pid}-`));

/** A migrated data directory, created once for each state of the migrations and kept between runs. */
async function template(): Promise<string> {
  removeAbandoned();
  const digest = createHash("sha256").update(readFileSync(new URL("../../package.json", import.meta.url))); // the version of PGlite
  for (const file of readdirSync(MIGRATIONS).sort()) digest.update(readFileSync(new URL(file, MIGRATIONS)));
  const path = join(BASE, `countersign-test-template-${digest.digest("hex").slice(0, 16)}`);
  if (existsSync(path)) return path;
  const making = aDataDir();
  await (await openDatabase({ dir: making })).close();
  // The databases template1 and template0, of which others are made: here none is.
  for (const unused of ["1", "4"]) rmSync(join(making, "pg/base", unused), { recursive: true });
  try {
    renameSync(making, path);
  } catch {
    rmSync(making, { recursive: true, force: true }); // another worker created it first
  }
  return path;
}

/** A data directory with a migrated database, for a server or for freshEmbedded. */
export async function freshDataDir(): Promise<string> {
  made ??= template();
  const from = await made;
  const dir = aDataDir();
  cpSync(from, dir, { recursive: true });
  return dir;
}
let made: Promise<string> | undefined;

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

/**
 * An empty database on the server, without a schema. Deadlocks in it are detected within 50 ms instead of a second, which needs a
 * superuser.
 */
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

/** Runs a statement of a test. */
export const runText = <Row>(sql: Sql, text: string, parameters: readonly Parameter[] = []): Promise<Row[]> =>
  sql.query<Row>(statement(`test_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`, text), parameters);

export const TEST_DATABASE_URL = process.env.TEST_DATABASE_URL;

export const databaseKinds: readonly DatabaseKind[] = [
  { name: "embedded", fresh: freshEmbedded },
  ...(TEST_DATABASE_URL === undefined ? [] : [{ name: "postgresql" as const, fresh: () => freshPostgres(TEST_DATABASE_URL) }]),
];
