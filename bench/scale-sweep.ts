import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { auditPartitions } from "../src/store/audit-partitions.ts";
import { firstId } from "../src/store/audit-trail.ts";
import { isUnavailable } from "../src/store/availability.ts";
import { grants } from "../src/store/grants.ts";
import { type Database, openDatabase } from "../src/store/orm.ts";
import { refreshFamilies } from "../src/store/refresh-families.ts";
import { sweep } from "../src/store/sweep.ts";
import { aHash, anAudit } from "../test/support/accounts.ts";
import { aFamily, aGrant, aScene } from "../test/support/grants.ts";
import { IN_FLIGHT } from "./scenario.ts";
import { emptyStorage } from "./storage.ts";

/** Expired rows of each large table. */
const EXPIRED = 60_000;
/** Seconds for which the load is measured without the sweep, before and after it. */
const ALONE = 10;

const SERIES = `generate_series(1, ${EXPIRED}) as n`;
const IDS = "gen_random_uuid()";
const PAST = "now() - interval '2 days'";

/** Rows that expired, as the service would have left them. Archived audit records are in a range of their own; `$1` is a user. */
const LEFTOVERS: readonly string[] = [
  `insert into grants (id, client_id, user_id, scopes, audience, auth_time, created_at)
   select ${IDS}, 'c', $1::uuid, '{}', '{}', now(), now() - interval '92 days' from ${SERIES}`,
  `insert into refresh_families (id, grant_id, current_hash, expires_at, ends_at)
   select id, id, sha256(uuid_send(id)), ${PAST}, ${PAST} from grants where client_id = 'c'`,
  "insert into refresh_tokens (token_hash, family_id) select sha256(uuid_send(id) || '.'), id from grants where client_id = 'c'",
  `insert into authorization_codes (code_hash, client_id, user_id, session_id, redirect_uri, code_challenge, scopes, resources, auth_time, expires_at, consumed_at, grant_id)
   select sha256(uuid_send(id)), 'c', $1::uuid, $1::uuid, '', '', '{}', '{}', now(), ${PAST}, now(), id from grants where client_id = 'c'`,
  `insert into delegations (id, kind, jti, parent_jti, grant_id, user_id, path, actor, scopes, audience, expires_at)
   select id, 'access_token', id::text, 'x', id, $1::uuid, array[id], 'c', '{}', '{}', ${PAST} from grants where client_id = 'c'`,
  `insert into revocations (jti, client_id, expires_at) select ${IDS}::text, 'c', ${PAST} from ${SERIES}`,
  `insert into revocation_events (xid, kind, key, lifted, expires_at) select 1, 'jti', 'jti-' || n, false, ${PAST} from ${SERIES}`,
  `insert into consumed_ids select 'client_assertion', uuid_send(${IDS}), ${PAST} from ${SERIES}`,
  `insert into pending_requests (id_hash, query, expires_at) select uuid_send(${IDS}), 'client_id=c', ${PAST} from ${SERIES}`,
  ...["audit_records", "audit_links"].flatMap((table) => [
    `create table ${table}_until_past (like ${table}_first including all)`,
    `alter table ${table} attach partition ${table}_until_past for values from (minvalue) to ('${firstId(Date.now() / 1000 - 30 * 86_400)}')`,
  ]),
  `insert into audit_records (id, at, event, outcome, actor_type, actor_id, user_id, client_id, grant_type, jti, grant_id, request_id)
   select (lpad(to_hex((extract(epoch from now() - interval '60 days') * 1000)::bigint + n), 12, '0') || '70008000000000000000')::uuid,
     now() - interval '60 days', 'token.issued', 'success', 'client', 'c', $1::text, 'c', 'refresh_token', 'jti-' || n, 'grant-' || n, 'request-' || n from ${SERIES}`,
  "insert into audit_links (id, seq, hash) select id, row_number() over (order by id), '' from audit_records where client_id = 'c'",
  `insert into audit_checkpoints (seq, hash, kid, jws) select ${EXPIRED} + 1, '', 'k', 'j'`,
  `update audit_start set seq = ${EXPIRED} + 1`,
];
const LARGE =
  "grants, refresh_families, refresh_tokens, authorization_codes, delegations, revocations, revocation_events, consumed_ids, pending_requests, audit_records, audit_links";

async function leave(url: string, userId: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("set session_replication_role = replica; set synchronous_commit = off");
    for (const text of LEFTOVERS) await client.query(text, text.includes("$1") ? [userId] : []);
    await client.query(`vacuum analyze ${LARGE}`);
    await client.query("checkpoint");
  } finally {
    await client.end();
  }
}

interface Measured {
  readonly seconds: number;
  readonly rate: number;
  readonly p99: number;
  /** Calls that were answered with 503. */
  readonly refused: number;
}

/** Callers that rotate refresh tokens without pause, until `work` is done. */
async function beside({ sql }: Database, work: () => Promise<unknown>): Promise<Measured> {
  const scene = await aScene(sql);
  const families = refreshFamilies(sql);
  const times: number[] = [];
  const running = { value: true };
  let refused = 0;
  const caller = async (): Promise<void> => {
    const family = aFamily();
    await grants(sql).open(aGrant(scene), family, scene.sessionId, anAudit("token.issued"));
    let current = family.tokenHash;
    while (running.value) {
      const [next, began] = [aHash(), performance.now()];
      const rotated = await families
        .rotate(family.id, current, { hash: next, ttl: 3_600 }, anAudit("token.issued", { clientId: scene.clientId }))
        .catch((error: unknown) => {
          if (!isUnavailable(error)) throw error;
          refused += 1;
          return undefined;
        });
      if (rotated === undefined) continue;
      times.push(performance.now() - began);
      current = next;
    }
  };
  const began = performance.now();
  const callers = Promise.all(Array.from({ length: IN_FLIGHT }, caller));
  await work();
  const seconds = (performance.now() - began) / 1000;
  running.value = false;
  await callers;
  const sorted = Float64Array.from(times).sort();
  return { seconds, rate: times.length / seconds, p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN, refused };
}

const row = (name: string, { seconds, rate, p99, refused }: Measured): string =>
  `| ${name} | ${seconds.toFixed(0)} | ${rate.toFixed(0)} | ${p99.toFixed(1)} | ${refused} |`;

/** Measures what refreshing clients notice of the sweep, on a database of its own. */
export async function sweepBesideLoad(): Promise<void> {
  const storage = await emptyStorage("PostgreSQL");
  const url = storage.env.DATABASE_URL as string;
  const database = await openDatabase({ url });
  try {
    const scene = await aScene(database.sql);
    await beside(database, () => setTimeout(3_000)); // until the code is compiled
    const before = await beside(database, () => setTimeout(ALONE * 1000));
    await leave(url, scene.userId);
    const during = await beside(database, async () => {
      console.log(`${await auditPartitions(database.sql, async () => undefined).drop()} audit records dropped with their partition`);
      await sweep(database.sql, { rest: (milliseconds) => setTimeout(milliseconds) });
    });
    const after = await beside(database, () => setTimeout(ALONE * 1000));
    console.log(`\n| ${IN_FLIGHT} callers that refresh | s | refreshes/s | p99, ms | refused |\n| --- | --- | --- | --- | --- |`);
    for (const [name, measured] of Object.entries({ "without sweep": before, "beside the sweep": during, "after it": after }))
      console.log(row(name, measured));
  } finally {
    await database.close();
    await storage.drop();
  }
}
