import pg from "pg";
import type { AuditFilter } from "../src/management/ports.ts";
import { auditTrail } from "../src/store/audit-trail.ts";
import { clientDirectory } from "../src/store/client-directory.ts";
import { managedClients } from "../src/store/clients.ts";
import { openDatabase } from "../src/store/orm.ts";
import type { Sql } from "../src/store/sql.ts";
import { anAudit } from "../test/support/accounts.ts";
import { aScene } from "../test/support/grants.ts";
import { manyGrants } from "../test/support/many.ts";
import { emptyStorage } from "./storage.ts";

/**
 * What an operator waits for when there is much: stopping a client by its grants, and audit lists by filter. Needs BENCH_DATABASE_URL.
 * Usage: npm run bench:scale -- [AUDIT_RECORDS]
 */

const ALL = { kind: "all" } as const;
const GRANTS = [100, 12_300, 85_000];
/** Rows of one insert of audit records, written as the service would have written and sealed them over 30 days. */
const AT_ONCE = 250_000;
/** The aim for either, in milliseconds. */
const AIM = 100;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function stopClients(sql: Sql): Promise<void> {
  console.log("| grants of the client | disable, ms | delete, ms | aim |\n| --- | --- | --- | --- |");
  for (const count of GRANTS) {
    const [disabled, deleted] = [await aScene(sql), await aScene(sql)];
    for (const scene of [disabled, deleted]) await manyGrants(sql, scene, count);
    const idOf = async (clientId: string) => (await clientDirectory(sql).byClientId(clientId))?.id ?? "";
    const [first, second] = [await idOf(disabled.clientId), await idOf(deleted.clientId)];
    const off = (client: object) => ({ settings: { ...client, enabled: false }, secret: "kept" }) as never;
    const disable = await timed(() => managedClients(sql).change(first, ALL, off, anAudit("client.changed")));
    const remove = await timed(() => managedClients(sql).delete(second, ALL, anAudit("client.deleted")));
    console.log(`| ${count} | ${disable.toFixed(0)} | ${remove.toFixed(0)} | < ${AIM} |`);
  }
}

/** Ids begin with the time, as those of the service do. */
const INSERT = `insert into audit_records (id, at, event, outcome, reason, actor_type, actor_id, user_id, client_id, grant_type, jti, grant_id, request_id, seq, hash)
  select encode(substring(int8send((extract(epoch from at) * 1000)::bigint) from 3) || '\\x7000'::bytea || '\\x8000'::bytea || int4send(n) || '\\x0000'::bytea, 'hex')::uuid,
    at, (array['token.issued','token.issued','token.issued','code.issued','session.started','token.refused'])[1 + n % 6],
    case when n % 6 = 5 then 'failure' else 'success' end, case when n % 6 = 5 then 'scope_not_allowed' end, 'client', 'client-' || n % 1000,
    'user-' || n % 100000, 'client-' || n % 1000, 'client_credentials', 'jti-' || n, 'grant-' || n % 500000, 'request-' || n, n, sha256(int4send(n))
  from (select n, now() - interval '30 days' + n * (interval '30 days' / $3::float8) as at from generate_series($1::int, $2::int) as n) as rows`;

async function fill(url: string, records: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("set session_replication_role = replica; set synchronous_commit = off");
  for (let done = 0; done < records; done += AT_ONCE) await client.query(INSERT, [done + 1, Math.min(done + AT_ONCE, records), records]);
  await client.query("vacuum analyze audit_records");
  await client.end();
}

async function auditLists(sql: Sql, records: number): Promise<void> {
  const middle = Math.floor(records / 2);
  const day = Math.floor(Date.now() / 1000) - 15 * 86_400;
  const filters: Readonly<Record<string, AuditFilter>> = {
    none: {},
    user: { userId: `user-${middle % 100_000}` },
    client: { clientId: `client-${middle % 1000}` },
    actor: { actorId: `client-${middle % 1000}` },
    jti: { jti: `jti-${middle}` },
    grant: { grantId: `grant-${middle % 500_000}` },
    request: { requestId: `request-${middle}` },
    event: { event: "code.issued" },
    failures: { outcome: "failure" },
    reason: { reason: "scope_not_allowed" },
    "a reason that no record has": { reason: "client_disabled" },
    day: { since: day, until: day + 86_400 },
    "user and day": { userId: `user-${middle % 100_000}`, since: day, until: day + 86_400 },
    "client and failures": { clientId: `client-${middle % 1000}`, outcome: "failure" },
  };
  console.log(`\n| filter, ${records} records | first page, ms | warm, ms | records found | aim |\n| --- | --- | --- | --- | --- |`);
  for (const [name, filter] of Object.entries(filters)) {
    let found = 0;
    const list = async () => {
      found = (await auditTrail(sql).list(filter, 50, undefined)).items.length;
    };
    const [first, warm] = [await timed(list), await timed(list)];
    console.log(`| ${name} | ${first.toFixed(0)} | ${warm.toFixed(0)} | ${found} | < ${AIM} |`);
  }
}

const storage = await emptyStorage("PostgreSQL");
const url = storage.env.DATABASE_URL;
if (url === undefined) throw new Error("BENCH_DATABASE_URL is missing: give a PostgreSQL server on which databases can be made.");
const database = await openDatabase({ url });
try {
  await stopClients(database.sql);
  const records = Number(process.argv[2] ?? 1_000_000);
  await fill(url, records);
  await auditLists(database.sql, records);
} finally {
  await database.close();
  await storage.drop();
}
