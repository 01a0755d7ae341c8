import { randomBytes } from "node:crypto";
import pg from "pg";
import { openDatabase } from "../../src/store/orm.ts";
import { isAlive, templateDigest } from "./data-directory.ts";

/** The PostgreSQL server of the tests, whose role is a superuser. */
export const TEST_DATABASE_URL = process.env.TEST_DATABASE_URL;

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

const PREFIX = "countersign_test_";

async function asAdministrator<Row>(server: string, ...statements: readonly string[]): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    let rows: Row[] = [];
    for (const each of statements) rows = (await client.query(each)).rows as Row[];
    return rows;
  } finally {
    await client.end();
  }
}

/** Deadlocks in it are detected within 50 ms instead of a second. */
async function created(server: string, template: string): Promise<TestDatabase> {
  const name = `${PREFIX}${process.pid}_${randomBytes(6).toString("hex")}`;
  await asAdministrator(server, `create database ${name} template ${template}`, `alter database ${name} set deadlock_timeout = '50ms'`);
  return {
    url: urlOf(server, name),
    drop: async () => void (await asAdministrator(server, `drop database if exists ${name} with (force)`)),
  };
}

function urlOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** An empty database on the server, without a schema. */
export const emptyPostgresDatabase = (server: string): Promise<TestDatabase> => created(server, "template1");

/** Drops the databases of killed test runs, unless somebody is connected. */
async function dropAbandoned(server: string): Promise<void> {
  const all = await asAdministrator<{ name: string }>(server, `select datname as name from pg_database where datname ~ '^${PREFIX}\\d+_'`);
  const abandoned = all.filter(({ name }) => !isAlive(Number(name.slice(PREFIX.length).split("_", 1)[0])));
  for (const { name } of abandoned) await asAdministrator(server, `drop database if exists ${name}`).catch(() => undefined);
}

/** The name of a migrated database, created once for each state of the migrations and kept between runs. */
async function template(server: string): Promise<string> {
  await dropAbandoned(server);
  const name = `${PREFIX}template_${templateDigest()}`;
  const [exists] = await asAdministrator(server, `select 1 from pg_database where datname = '${name}'`);
  if (exists !== undefined) return name;
  const making = await emptyPostgresDatabase(server);
  await (await openDatabase({ url: making.url })).close();
  try {
    await asAdministrator(server, `alter database ${new URL(making.url).pathname.slice(1)} rename to ${name}`);
  } catch {
    await making.drop(); // another worker created it first
  }
  return name;
}

let migrated: Promise<string> | undefined;

/** A database with the current schema on the server at TEST_DATABASE_URL; undefined when that is not set. */
export async function createTestDatabase(): Promise<TestDatabase | undefined> {
  if (TEST_DATABASE_URL === undefined) return undefined;
  migrated ??= template(TEST_DATABASE_URL);
  return created(TEST_DATABASE_URL, await migrated);
}
