import { performance } from "node:perf_hooks";
import { TOKEN_EXCHANGE } from "../protocol/grants.ts";
import { USES } from "./audit-sealer.ts";
import { dropConsents } from "./grant-rows.ts";
import { type Sql, type Statement, statement } from "./sql.ts";

/** Rows to delete, by table; the condition begins with an indexed column. Used codes stay for a day to detect replays; revocations and consumed ids an hour, in case clocks differ. */
const EXPIRED: Readonly<Record<string, string>> = {
  pending_requests: "expires_at < now()",
  verification_tokens: "expires_at < now()",
  password_resets: "expires_at < now()",
  invitations: "expires_at < now()",
  proof_challenges: "expires_at < now()",
  address_changes: "stop_until < now()",
  sessions: "expires_at < now()",
  // The user can read the outcome for an hour.
  wallet_links: "expires_at < now() - interval '1 hour'",
  known_devices: "expires_at < now()",
  sign_in_failures: "window_ends_at < now()",
  authorization_codes: "expires_at < now() - interval '1 day'",
  // For an hour a device that polls gets expired_token instead of invalid_grant.
  device_requests: "expires_at < now() - interval '1 hour'",
  pushed_requests: "expires_at < now()",
  revocation_events: "expires_at < now() - interval '1 hour'",
  revocations: "expires_at < now() - interval '1 hour'",
  consumed_ids: "expires_at < now() - interval '1 hour'",
  delegations: "expires_at < now() - interval '1 day'",
  detached_signatures: "expires_at < now()",
  // The trail begins with a signed record, which stays.
  audit_checkpoints: "seq < (select audit_start.seq from audit_start)",
  client_documents:
    "seen_at < now() - interval '90 days' and (select count(*) from consents where consents.client_id = client_documents.client_id) = 0",
  resource_refusals: "at < now() - interval '90 days'",
  refresh_families: "expires_at < now() - interval '1 day'",
  figures: "starts_at < now() - case span when 'hour' then interval '49 hours' else interval '91 days' end",
  // No family outlives 90 days, and no token of a grant without one outlives a day. A grant is deleted once no row refers to it, because
  // rows that a foreign key deletes cannot be skipped when they are locked. `not exists` might become a join that reads whole tables.
  grants: ["refresh_families", "delegations"].reduce(
    (condition, table) => `${condition} and (select count(*) from ${table} where grant_id = grants.id) = 0`,
    "created_at < now() - interval '91 days'",
  ),
};

/** In its order the index is read, and not a table from its beginning until enough rows are found. */
const columnOf = (expired: string): string => expired.slice(0, expired.indexOf(" "));

/** Each table has a lock: a process skips the tables that another one sweeps. */
const FIRST_LOCK = 723_510_748_200;
const MINE = "(select taken from lock)";

// A batch of `$1` rows at most is one statement, which names what it deletes `swept`.
const BATCHES = Object.entries(EXPIRED).map(([table, expired]) => ({
  table,
  text: `swept as (
     delete from ${table} where ctid = any(array(
       select ctid from ${table} where ${MINE} and ${expired} order by ${columnOf(expired)} limit $1::int for update skip locked)) returning 1)`,
}));

/** Where ids of a day ago begin (RFC 9562 §5.7). */
const A_DAY_AGO = "(lpad(to_hex(floor(extract(epoch from now() - interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid";

// Open registrations that got no token within a day, or were unused for 30 days; never one with an active refresh family. The last use is noted
// when records are sealed, and not by a former release, so one that got a token in the last day, or since the oldest record that waits, stays.
const REGISTRATIONS = `swept as (
     delete from clients where id = any(array(
       select id from clients where ${MINE} and origin = 'dynamic'
         and (last_used_at < now() - interval '30 days' or (last_used_at is null and created_at < now() - interval '1 day'))
         and (
           select count(*) from audit_records
           where audit_records.client_id = clients.client_id and event = any(array['${USES.join("', '")}'])
             and id >= least(${A_DAY_AGO}, (select id from audit_links where seq is null order by id limit 1))) = 0
         and (
           select count(*) from grants where grants.client_id = clients.client_id and grants.revoked_at is null and (
             select count(*) from refresh_families
             where grant_id = grants.id and refresh_families.revoked_at is null and refresh_families.expires_at > now()) > 0) = 0
       limit $1::int for update skip locked))
     returning client_id),
   withdrawn as (${dropConsents("client_id = any(array(select client_id from swept))")}),
   logged as (
     insert into audit_records (event, outcome, reason, actor_type, actor_id, client_id)
     select 'client.deleted', 'success', 'registration_unused', 'service', 'sweep', client_id from swept)`;

// The counts of each past minute become one audit record.
const REFUSED_EXCHANGES = `swept as (
     delete from refused_exchanges where ctid = any(array(
       select ctid from refused_exchanges where ${MINE} and minute < date_trunc('minute', now()) limit $1::int for update skip locked))
     returning client_id, address, reason, requests),
   logged as (
     insert into audit_records (event, outcome, reason, actor_type, actor_id, client_id, grant_type, act_chain, address, repeats)
     select 'token.refused', 'failure', reason, 'client', client_id, client_id, '${TOKEN_EXCHANGE}', array[client_id], nullif(address, ''), requests - 1
     from swept where requests > 1)`;

// Audit records that were there before any range, with their links. Later ones are dropped with their partition (audit-partitions.ts).
const AUDIT_RECORDS = `unlinked as (
     delete from audit_links_first where ctid = any(array(
       select ctid from audit_links_first where ${MINE} and seq < (select audit_start.seq from audit_start) order by seq limit $1::int for update skip locked))
     returning id),
   swept as (delete from audit_records_first where id = any(array(select id from unlinked)) returning 1)`;

type Sweep = { readonly table: string; readonly statement: Statement };

/** A batch does not wait for the disk: what a crash brings back is swept again. */
const ALL: readonly Sweep[] = [
  ...BATCHES,
  { table: "audit_records_first", text: AUDIT_RECORDS },
  { table: "clients", text: REGISTRATIONS },
  { table: "refused_exchanges", text: REFUSED_EXCHANGES },
].map(({ table, text }, at) => ({
  table,
  statement: statement(
    `sweep_${table}`,
    `with lock as materialized (
       select pg_try_advisory_xact_lock(${FIRST_LOCK + at}) as taken, set_config('synchronous_commit', 'off', true) as waits),
     ${text}
     select count(*)::int as swept from swept`,
  ),
}));
/** Grants follow the rows that refer to them. */
const STAGES = [ALL.filter(({ table }) => table !== "grants"), ALL.filter(({ table }) => table === "grants")];

/** How a sweep proceeds: rows of a batch, and how many times as long as the batch it then rests. */
export type Pace = { readonly rows: number; readonly rest: number };

/** So short that other statements hardly notice a batch. */
const GENTLE: Pace = { rows: 100, rest: 5 };
const HURRIED: Pace = { rows: 500, rest: 1 };
/** Milliseconds after which a sweep hurries, so that it ends. */
const PATIENT = 40_000;

/** The pace of the next batch. Pure. @param elapsed milliseconds since the sweep began  @param failures of the table, in a row */
export function paceOf(elapsed: number, failures: number): Pace {
  const { rows, rest } = elapsed < PATIENT ? GENTLE : HURRIED;
  return { rows: Math.max(1, Math.trunc(rows / 4 ** failures)), rest };
}

export interface SweepOptions {
  /** Stops after the running batch. */
  readonly signal?: AbortSignal;
  /** Pauses after a batch, so that the database can serve others. */
  readonly rest?: (milliseconds: number) => Promise<unknown>;
  readonly swept?: (table: string, rows: number) => void;
  readonly failed?: (table: string, error: unknown) => void;
}

/** `began`: when the whole sweep did. `failures`: consecutive failed batches. */
type TableSweep = { readonly sweep: Sweep; readonly began: number; failures: number };

/** Consecutive failed batches, each smaller, after which a table is left to the next sweep. */
const PATIENCE = 4;

/** Runs one batch. @returns the deleted rows, and whether the table may hold more */
async function advance(sql: Sql, table: TableSweep, options: SweepOptions): Promise<{ readonly gone: number; readonly more: boolean }> {
  const { rest, swept, failed } = options;
  const { table: name, statement: batch } = table.sweep;
  const began = performance.now();
  const pace = paceOf(began - table.began, table.failures);
  try {
    const [{ swept: gone } = { swept: 0 }] = await sql.query<{ swept: number }>(batch, [pace.rows]);
    table.failures = 0;
    if (gone > 0) {
      swept?.(name, gone);
      await rest?.((performance.now() - began) * pace.rest);
    }
    return { gone, more: gone === pace.rows };
  } catch (error) {
    failed?.(name, error);
    table.failures += 1;
    return { gone: 0, more: table.failures < PATIENCE };
  }
}

/**
 * Deletes expired rows until none are left, a batch of each table in turn. One process at a time sweeps a table. A failed batch is retried
 * with a smaller size.
 * @returns the deleted rows, and whether more may be left: the sweep was stopped, or a table failed
 */
export async function sweep(sql: Sql, options: SweepOptions = {}): Promise<{ readonly gone: number; readonly more: boolean }> {
  const outcome = { gone: 0, more: false };
  const began = performance.now();
  for (const stage of STAGES) {
    let tables: readonly TableSweep[] = stage.map((one) => ({ sweep: one, began, failures: 0 }));
    while (tables.length > 0) {
      const left: TableSweep[] = [];
      for (const table of tables) {
        if (options.signal?.aborted) return { ...outcome, more: true };
        const { gone, more } = await advance(sql, table, options);
        outcome.gone += gone;
        if (more) left.push(table);
        else outcome.more ||= table.failures > 0;
      }
      tables = left;
    }
  }
  return outcome;
}
