import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Sql, statement } from "../../src/store/sql.ts";
import { postgresPool, postgresSql } from "../../src/store/sql-postgres.ts";
import { aCluster, type Cluster } from "../support/postgres-cluster.ts";
import { privateCa } from "../support/private-ca.ts";
import { aDirectory, endProcesses, until } from "../support/processes.ts";

let cluster: Cluster;

beforeAll(async () => {
  cluster = await aCluster(() => "");
  cluster.run(["psql --quiet --dbname=$URL --command='alter system set ssl = on'"], { URL: cluster.url });
});

afterAll(async () => {
  cluster.stop();
  await endProcesses();
});

/** Gives the server a certificate of this authority. */
function certify(ca: ReturnType<typeof privateCa>): void {
  const { key, cert } = ca.serverFor("localhost");
  cluster.run(["umask 077", 'printf %s "$CERT" > $PGDATA/server.crt', 'printf %s "$KEY" > $PGDATA/server.key', "pg_ctl reload"], {
    CERT: cert,
    KEY: key,
  });
}

const ask = (sql: Sql, text: string) => sql.query(statement("", text), []);

/** A server with a certificate, and a pool of one connection that knows its authority by a file. */
async function aPool() {
  const ca = privateCa();
  const authority = join(aDirectory(), "ca.pem");
  writeFileSync(authority, ca.certificatePem);
  certify(ca);
  const pool = postgresPool(`${cluster.url.replace("127.0.0.1", "localhost")}?sslmode=verify-full&sslrootcert=${authority}`, { size: 1 });
  onTestFinished(() => pool.end());
  const sql = postgresSql(pool, { since: false }, {});
  await until("the server has its certificate", async () => (await ask(sql, "select 1")).length === 1);
  return { sql, authority };
}

test("TLS from the first byte goes on with the authority of the URL", () => {
  const authority = join(aDirectory(), "ca.pem");
  writeFileSync(authority, privateCa().certificatePem);
  const pool = postgresPool(`postgres://localhost/x?sslmode=verify-full&sslrootcert=${authority}&sslnegotiation=direct`, {});
  const client = new (Reflect.get(pool, "Client") as typeof pg.Client)(pool.options);
  expect(Reflect.get(client, "ssl")).toMatchObject({ ca: expect.stringContaining("BEGIN CERTIFICATE") });
  expect(Reflect.get(client, "sslNegotiation")).toBe("direct");
});

const SLEEPING = "from pg_stat_activity where application_name = 'countersign' and state = 'active'";

/** Ends the connection of a statement. @param during what to do while the statement runs  @returns its error */
async function cutStatement(sql: Sql, during = (): void => undefined): Promise<unknown> {
  const error = ask(sql, "select pg_sleep(60)").then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const other = new pg.Client(cluster.url);
  await other.connect();
  await until("the statement runs", async () => (await other.query(`select 1 ${SLEEPING}`)).rowCount === 1);
  during();
  await other.query(`select pg_terminate_backend(pid) ${SLEEPING}`);
  await other.end();
  return error;
}

test("a connection that breaks while others wait, and its files cannot be read, is replaced", async () => {
  const { sql, authority } = await aPool();
  rmSync(authority);
  let waiting: Promise<unknown> | undefined;
  const error = await cutStatement(sql, () => {
    waiting = ask(sql, "select 1").catch(() => undefined); // it waits half a second at most
  });
  expect(error).toMatchObject({ reason: "storage_unavailable" });
  await waiting;
  await until("another connection is open", async () => (await ask(sql, "select 1")).length === 1);
});

test("a renewed authority counts for the next connection", async () => {
  const { sql, authority } = await aPool();
  const next = privateCa();
  writeFileSync(`${authority}.new`, next.certificatePem);
  renameSync(`${authority}.new`, authority);
  certify(next);
  expect(await cutStatement(sql)).toMatchObject({ reason: "storage_unavailable" });
  await until("the new certificate is trusted", async () => (await ask(sql, "select 1")).length === 1);
});

/** A pool of one connection, which the server has just opened. */
function aConnection() {
  const pool = postgresPool(cluster.url, { size: 1 });
  onTestFinished(() => pool.end());
  const full = { since: false };
  return { sql: postgresSql(pool, full, {}), full };
}

test("a file that the server may not open is an outage, which health looks for, and a table without privilege is a fault", async () => {
  const owner = aConnection().sql;
  await ask(owner, "create table closed (a int)");
  const [row] = await owner.query<{ path: string }>(statement("", "select pg_relation_filepath('closed') as path"), []);
  const make = (mode: string) => cluster.run(['chmod "$MODE" "$PGDATA/$FILE"'], { MODE: mode, FILE: row?.path ?? "" });
  const { sql, full } = aConnection();
  make("000");
  await expect(ask(sql, "select from closed")).rejects.toMatchObject({ reason: "storage_unavailable" });
  expect(full.since).toBe(true);
  make("600");
  expect(await ask(sql, "select from closed")).toEqual([]);
  const { sql: other, full: afterwards } = aConnection();
  await ask(other, "set role pg_monitor");
  await expect(ask(other, "select from closed")).rejects.toMatchObject({ code: "42501" });
  expect(afterwards.since).toBe(false);
});
