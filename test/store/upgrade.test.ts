import { createPrivateKey, createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { decodeJwt, decodeProtectedHeader, SignJWT } from "jose";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { GENESIS } from "../../src/audit-chain/chain.ts";
import { headerLine, interleave } from "../../src/audit-chain/export.ts";
import { verification } from "../../src/audit-chain/verify.ts";
import { auditTrail } from "../../src/store/audit-trail.ts";
import { MIGRATION_TABLE, MIGRATIONS, statementsOf } from "../../src/store/migrate.ts";
import { openDatabase } from "../../src/store/orm.ts";
import type { Sql } from "../../src/store/sql.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { lentDatabase } from "../support/lent-database.ts";
import { emptyPostgresDatabase, TEST_DATABASE_URL } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";

const FIRST = "0001_initial";
const read = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8");

/** What the clients and the user of the earlier server held. */
interface Held {
  readonly madeAt: string;
  /** The key that signed, as PEM. */
  readonly key: string;
  readonly user: { readonly id: string; readonly email: string };
  readonly session: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly usedRefreshToken: string;
  readonly revokedRefreshToken: string;
}
const held: Held = JSON.parse(read(`${FIRST}.json`));

/** Seconds since the rows were made. */
const age = Math.floor(Date.now() / 1_000 - Date.parse(held.madeAt) / 1_000);

/** Columns with times, but of the sealed trail, which nothing may change. */
const TIMES = `select format('update %I set %I = %2$I + make_interval(secs => ${age})', table_name, column_name) as text
  from information_schema.columns where table_schema = 'public' and data_type = 'timestamp with time zone' and table_name not like 'audit%'`;

/**
 * A database as the first migration and a server of that time left it, as if that had been a moment ago.
 * @param changes statements that it went through before
 */
async function earlierDatabase(...changes: readonly string[]): Promise<string> {
  const { url, drop } = await emptyPostgresDatabase(TEST_DATABASE_URL ?? expect.fail("TEST_DATABASE_URL is not set"));
  onTestFinished(drop);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statementsOf(FIRST)) await client.query(statement);
  await client.query(`create table ${MIGRATION_TABLE} (id serial primary key, name varchar(255), executed_at timestamptz default now())`);
  await client.query("set session_replication_role = replica"); // neither triggers nor references: the rows are a copy
  const rows = read(`${FIRST}.sql`);
  for (const table of new Set(rows.match(/(?<=^INSERT INTO )\S+/gm))) await client.query(`delete from ${table}`);
  await client.query(rows);
  for (const statement of changes) await client.query(statement);
  for (const { text } of (await client.query<{ text: string }>(TIMES)).rows) await client.query(text);
  await client.end();
  return url;
}

/** The access token of that time as if it had been issued a moment ago by this issuer. */
function accessToken(issuer: string): Promise<string> {
  const { iat = 0, exp = 0, ...claims } = decodeJwt(held.accessToken);
  const { kid = "", typ = "" } = decodeProtectedHeader(held.accessToken);
  return new SignJWT({ ...claims, iss: issuer, iat: iat + age, exp: exp + age })
    .setProtectedHeader({ alg: "EdDSA", kid, typ })
    .sign(createPrivateKey(held.key));
}

test("a database of 0.1.0, which had no columns for keys, has every column once it is migrated, and its refresh tokens work", async () => {
  const DATABASE_URL = await earlierDatabase("alter table refresh_families drop column cnf", "alter table delegations drop column cnf");
  const server = await startServer({ env: { DATABASE_URL, JWT_PRIVATE_KEY: held.key } });
  onTestFinished(() => server.close());
  expect((await server.refresh(server.clients.web, held.refreshToken)).status).toBe(200);
  const columns = (sql: Sql) =>
    runText(
      sql,
      `select table_name, column_name, data_type, is_nullable from information_schema.columns
       where table_schema = 'public' and table_name <> '${MIGRATION_TABLE}' order by 1, 2`,
    );
  const { database } = await lentDatabase("postgresql");
  onTestFinished(() => database.close());
  expect(await columns(server.database.sql)).toEqual(await columns(database.sql));
});

test("a server of this version migrates the database of the first one, and what was issued there goes on", async () => {
  const DATABASE_URL = await earlierDatabase();
  const server = await startServer({ env: { DATABASE_URL, JWT_PRIVATE_KEY: held.key } });
  onTestFinished(() => server.close());
  const { web } = server.clients;
  const current = await accessToken(server.config.issuer);
  expect((await server.introspect(web, current)).body).toMatchObject({ active: true, sub: held.user.id });
  const refreshed = await server.refresh(web, held.refreshToken);
  expect(refreshed.status).toBe(200);

  const browser = aBrowser(server.url);
  browser.cookies.set("countersign", held.session);
  const issued = await server.tokens(web, browser, { scope: "openid offline_access notes:read", prompt: "none" });
  expect((await server.userinfo(issued.access_token)).body.sub).toBe(held.user.id);

  expect((await server.refresh(web, held.revokedRefreshToken)).body.error).toBe("invalid_grant");
  expect((await server.refresh(web, held.usedRefreshToken)).body.error).toBe("invalid_grant");
  expect((await server.refresh(web, refreshed.body.refresh_token)).body.error).toBe("invalid_grant");
  expect((await server.introspect(web, current)).body).toEqual({ active: false });

  const trail = () => auditTrail(server.database.sql).part(1_000, 0);
  await expect.poll(async () => (await trail()).records.length).toBeGreaterThan(22); // sealed within a second
  const { start, records, checkpoints } = await trail();
  const jwk = createPublicKey(held.key).export({ format: "jwk" });
  const verifying = verification(new Set([decodeProtectedHeader(held.accessToken).kid ?? ""]));
  for (const line of [headerLine(start ?? GENESIS), { type: "key", jwk }, ...interleave(records, checkpoints)])
    verifying.take(JSON.stringify(line));
  expect(verifying.end()).toMatchObject({ kind: "sound" });
});

test("a migration that meets a request in a deadlock is begun again", async () => {
  const { url, drop } = await emptyPostgresDatabase(TEST_DATABASE_URL ?? expect.fail("TEST_DATABASE_URL is not set"));
  onTestFinished(drop);
  const request = new pg.Client({ connectionString: url });
  await request.connect();
  onTestFinished(() => request.end());
  const run = async (text: string) => (await request.query(text)).rows;
  await run("do $$ begin execute format('alter database %I set deadlock_timeout = %L', current_database(), '3s'); end $$");
  await run(`create table ${MIGRATION_TABLE} (id serial primary key, name varchar(255), executed_at timestamptz default now())`);
  for (const name of MIGRATIONS.filter((one) => one < "0014")) {
    for (const text of statementsOf(name)) await run(text);
    await run(`insert into ${MIGRATION_TABLE} (name) values ('${name}')`);
  }
  await run("begin; set local deadlock_timeout = '1h'; lock table audit_records in row exclusive mode"); // so the migration is what ends
  const migrated = openDatabase({ url, migrate: true });
  const isWaiting = "select from pg_locks where not granted and relation = 'audit_records'::regclass";
  await expect.poll(() => run(isWaiting), { timeout: 10_000 }).toHaveLength(1);
  await run("lock table clients in row exclusive mode; commit");
  await (await migrated).close();
  const applied = await run(`select name from ${MIGRATION_TABLE} order by id`);
  expect(applied.map(({ name }) => name)).toEqual(MIGRATIONS);
});

test("the links of audit records are copied range by range, and what waited to be sealed waits still", async () => {
  const { url, drop } = await emptyPostgresDatabase(TEST_DATABASE_URL ?? expect.fail("TEST_DATABASE_URL is not set"));
  onTestFinished(drop);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  const rowsOf = async (text: string) => (await client.query<Record<string, unknown>>(text)).rows;
  const idOf = (n: number): string => `'${String(n).padStart(8, "0")}-0000-7000-8000-000000000000'`;
  const LINKS = "0028_audit_links";
  for (const name of MIGRATIONS.filter((one) => one < LINKS)) for (const text of statementsOf(name)) await client.query(text);
  // As the release before left it: two ranges, and a limit on the rest.
  await client.query(`alter table audit_records detach partition audit_records_first;
    alter table audit_records attach partition audit_records_first for values from (minvalue) to (${idOf(20)});
    create table audit_records_until_x (like audit_records_first including all);
    create trigger audit_records_not_deleted after delete on audit_records_until_x referencing old table as removed for each statement execute function audit_is_kept();
    alter table audit_records attach partition audit_records_until_x for values from (${idOf(20)}) to (${idOf(40)});
    create table audit_records_default (like audit_records_first including all);
    create trigger audit_records_not_deleted after delete on audit_records_default referencing old table as removed for each statement execute function audit_is_kept();
    alter table audit_records attach partition audit_records_default default;
    alter table audit_records_default add constraint audit_records_limit check (id < ${idOf(90)}) not valid`);
  const record = (n: number, seal: string) =>
    client.query(
      `insert into audit_records (id, event, outcome, actor_type, actor_id, seq, hash) values (${idOf(n)}, 'token.issued', 'success', 'client', 'c', ${seal})`,
    );
  for (const [n, seal] of [
    [11, "1, '\\x01'"],
    [31, "2, '\\x02'"],
    [51, "3, '\\x03'"],
    [52, "null, null"],
  ] as const)
    await record(n, seal);

  const steps = statementsOf(LINKS);
  const locking = steps.findIndex((text) => text.includes("lock table audit_records"));
  await client.query(`begin; ${steps.slice(0, locking).join(";")}`);
  const service = new pg.Client({ connectionString: url });
  await service.connect();
  await service.query("set lock_timeout = 500");
  const written = service.query(
    `insert into audit_records (id, event, outcome, actor_type, actor_id) values (${idOf(53)}, 'token.issued', 'success', 'client', 'c')`,
  );
  await expect(written, "requests go on while links are copied").resolves.toBeDefined();
  await service.end();
  await client.query(`${steps.slice(locking).join(";")}; commit`);
  expect(await rowsOf("select tableoid::regclass::text as place, seq::int as seq, hash from audit_links order by id")).toEqual([
    { place: "audit_links_first", seq: 1, hash: Buffer.of(1) },
    { place: "audit_links_until_x", seq: 2, hash: Buffer.of(2) },
    { place: "audit_links_default", seq: 3, hash: Buffer.of(3) },
    { place: "audit_links_default", seq: null, hash: null },
    { place: "audit_links_default", seq: null, hash: null },
  ]);
  expect(await rowsOf("select 1 from pg_constraint where conname = 'audit_records_limit'")).toEqual([]);
  await client.query(
    `insert into audit_records (id, event, outcome, actor_type, actor_id) values (${idOf(32)}, 'token.issued', 'success', 'client', 'c')`,
  );
  expect(await rowsOf("select id from audit_links where seq is null")).toHaveLength(3);
  for (const range of ["first", "until_x", "default"])
    for (const text of [`delete from audit_records_${range}`, `delete from audit_links_${range}`, `truncate audit_links_${range}`])
      await expect(client.query(text), text).rejects.toMatchObject({ code: "23001" });
});

/** An empty database, and connections to it. */
async function emptyDatabase() {
  const { url, drop } = await emptyPostgresDatabase(TEST_DATABASE_URL ?? expect.fail("TEST_DATABASE_URL is not set"));
  onTestFinished(drop);
  const connect = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  };
  return { url, connect };
}

test("a database that ends long statements and idle transactions ends no migration", async () => {
  const { url, connect } = await emptyDatabase();
  const client = await connect();
  const name = new URL(url).pathname.slice(1);
  await client.query(
    `create sequence made;
     create function wait_once() returns event_trigger language plpgsql as 'begin if nextval(''made'') = 5 then perform pg_sleep(1.5); end if; end';
     create event trigger slow on ddl_command_end when tag in ('CREATE TABLE') execute function wait_once()`,
  );
  for (const setting of ["statement_timeout = '1s'", "idle_in_transaction_session_timeout = '1s'"])
    await client.query(`alter database ${name} set ${setting}`);
  const database = await openDatabase({ url });
  await database.close();
});

test("a migration whose lock is lost reports the database as unavailable", async () => {
  const { url, connect } = await emptyDatabase();
  const [client, observer] = [await connect(), await connect()];
  await client.query(`begin; create table ${MIGRATION_TABLE} (id serial primary key)`); // the migration waits for its end
  const opening = openDatabase({ url }).catch((error: unknown) => error);
  const waiting = "select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(async () => (await observer.query(waiting)).rowCount, { timeout: 20_000 }).toBe(1);
  await observer.query(
    `select pg_terminate_backend(pid, 5000) from pg_locks join pg_database on pg_database.oid = database
     where datname = current_database() and locktype = 'advisory' and granted`,
  );
  await client.query("rollback");
  expect(await opening).toMatchObject({ code: "temporarily_unavailable" });
});
