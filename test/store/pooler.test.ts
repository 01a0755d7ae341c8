import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditPartitions } from "../../src/store/audit-partitions.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { openDatabase } from "../../src/store/orm.ts";
import { anAudit } from "../support/accounts.ts";
import { runText } from "../support/database.ts";
import { blocksOf } from "../support/documents.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { until } from "../support/processes.ts";
import { startServer } from "../support/server.ts";

/** PgBouncer before a database of its own, by the configuration of docs/production.md. @param changed of that text */
async function aPooler(changed = (text: string): string => text) {
  const database = (await createTestDatabase()) ?? expect.fail("TEST_DATABASE_URL is not set");
  onTestFinished(() => database.drop());
  const { hostname, port, pathname, username } = new URL(database.url);
  const listening = await freePort();
  const shown = blocksOf("docs/production.md").find(({ name }) => name === "pgbouncer.ini")?.code ?? expect.fail("no pgbouncer.ini");
  const dir = mkdtempSync(join(tmpdir(), "countersign-pooler-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  chmodSync(dir, 0o777);
  const text = shown
    .replace("countersign = host=10.0.0.5 ", `${pathname.slice(1)} = host=${hostname} port=${port} user=${username} `)
    .replace("listen_port = 6432", `listen_port = ${listening}`)
    .replace("auth_type = scram-sha-256", "auth_type = any")
    .replace(/^auth_file = .*$/m, "unix_socket_dir =")
    .replace("default_pool_size = 20", `default_pool_size = 3\nadmin_users = ${username}`);
  writeFileSync(join(dir, "pgbouncer.ini"), changed(text), { mode: 0o644 });
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}; // it refuses to run as root
  const child: ChildProcess = spawn("pgbouncer", [join(dir, "pgbouncer.ini")], { ...account, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  onTestFinished(() => void child.kill("SIGKILL"));
  await until(`PgBouncer: ${said}`, async () => /process up/.test(said));
  return `postgres://${username}@127.0.0.1:${listening}${pathname}`;
}

test("everything works behind PgBouncer in transaction mode, with three connections of the server", async () => {
  const url = await aPooler();
  const server = await startServer({ env: { DATABASE_URL: url, DATABASE_POOLER: "transaction" } });
  onTestFinished(() => server.close());
  const { web } = server.clients;
  const user = await server.signedInUser();
  const issued = await server.tokens(web, user.browser, { scope: "openid offline_access" });
  const answers = await Promise.all(Array.from({ length: 40 }, () => server.introspect(web, issued.access_token)));
  expect(answers.filter(({ body }) => body.active !== true)).toEqual([]);
  const refreshed = await server.refresh(web, issued.refresh_token);
  expect(refreshed.status).toBe(200);
  await server.revoke(web, refreshed.body.refresh_token);
  expect((await server.introspect(web, refreshed.body.access_token)).body).toEqual({ active: false });
});

test("the audit trail gets its ranges behind PgBouncer, and records are sealed there", async () => {
  const { sql, orm, close } = await openDatabase({ url: await aPooler(), pool: { pooler: "transaction" } });
  onTestFinished(() => close());
  const partitions = auditPartitions(sql, async (text) => (await orm()).em.getConnection().execute(text));
  await Promise.all([1, 2, 3].map(() => partitions.extend(30)));
  await partitions.extend(30);
  await auditLog(sql).record(anAudit("token.refused"));
  while ((await auditSealer(sql, undefined).seal()) > 0);
  expect(
    await runText(sql, "select tableoid::regclass::text as place, seq::int as seq from audit_links order by seq desc limit 1"),
  ).toEqual([{ place: "audit_links_first", seq: 1 }]);
  expect(
    await runText(sql, "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_links'::regclass order by 1"),
  ).toEqual([{ name: "audit_links_default" }, { name: "audit_links_first" }]);
});

test("what waits for a paused pooler is refused, and takes no effect once it goes on", async () => {
  const url = await aPooler();
  const { sql, close } = await openDatabase({ url, pool: { pooler: "transaction" } });
  onTestFinished(() => close());
  const admin = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: "/pgbouncer" }).href });
  await admin.connect();
  onTestFinished(() => admin.end());
  const waiting = async () => (await admin.query("show pools")).rows.reduce((sum, row) => sum + Number(row.cl_waiting), 0);
  await admin.query("pause");
  // More than PgBouncer reads before it looks whether its client is still there.
  const entry = anAudit("token.refused", { note: "a long note ".repeat(1_000) });
  const refused = expect(auditLog(sql).record(entry)).rejects.toMatchObject({ reason: "storage_unavailable" });
  await until("a statement that waits", async () => (await waiting()) > 0);
  await refused;
  await admin.query("resume");
  await until("the next statement", async () => (await runText(sql, "select 1 as one")).length === 1);
  await until("the end of the queue", async () => (await waiting()) === 0);
  expect(await runText(sql, "select count(*)::int as count from audit_records")).toEqual([{ count: 0 }]);
});

test("a pooler whose connections lack the deadlines is refused with the setting's name", async () => {
  const url = await aPooler((text) => text.replace(/ connect_query='[^']*(?:''[^']*)*'/, ""));
  await expect(openDatabase({ url, pool: { pooler: "transaction" } })).rejects.toThrow(/^DATABASE_POOLER: .*connect_query/);
});

test("a pooler whose connections have another isolation is refused with the setting's name", async () => {
  const url = await aPooler();
  const database = await openDatabase({ url, pool: { pooler: "transaction" } });
  onTestFinished(() => database.close());
  await runText(database.sql, `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'repeatable read'`);
  await runText(database.sql, "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database()").catch(
    () => undefined, // its own connection is one of them
  );
  await expect(openDatabase({ url, pool: { pooler: "transaction" } })).rejects.toThrow(/^DATABASE_POOLER: default_transaction_isolation/);
});
