import { TOKEN_EXCHANGE } from "../clients/client.ts";
import { dropConsents } from "./grant-rows.ts";
import { type Sql, type Statement, statement } from "./sql.ts";

/** Rows of one table that go in one statement; small, so that nobody waits long for a lock of ours. */
const BATCH = 500;

/**
 * What may go, per table. Used codes stay for a day, so that their replay is known as one. What JWTs hang on (revocations, consumed ids)
 * stays for an hour past its time, for it was reckoned by another clock.
 */
const EXPIRED: Readonly<Record<string, string>> = {
  pending_requests: "expires_at < now()",
  verification_tokens: "expires_at < now()",
  password_resets: "expires_at < now()",
  sessions: "expires_at < now()",
  // A person may look at the outcome for a while.
  wallet_links: "expires_at < now() - interval '1 hour'",
  sign_in_failures: "window_ends_at < now()",
  authorization_codes: "expires_at < now() - interval '1 day'",
  revocation_marks: "expires_at < now() - interval '1 hour'",
  revocations: "expires_at < now() - interval '1 hour'",
  consumed_ids: "expires_at < now() - interval '1 hour'",
  delegations: "expires_at < now() - interval '1 day'",
  detached_signatures: "expires_at < now()",
  refresh_families: "expires_at < now() - interval '1 day'",
  // No family outlives 90 days; a grant without one has no token that lives longer than a day. It goes once nothing hangs on it, for what
  // goes by a foreign key cannot be skipped when somebody holds it.
  grants: ["refresh_families", "delegations", "authorization_codes"].reduce(
    (condition, table) => `${condition} and not exists (select 1 from ${table} where grant_id = grants.id)`,
    "created_at < now() - interval '91 days'",
  ),
};

const SWEEPS = Object.entries(EXPIRED).map(([table, expired]) =>
  statement(
    `sweep_${table}`,
    `with gone as (
       delete from ${table} where ctid = any(array(select ctid from ${table} where ${expired} limit ${BATCH} for update skip locked)) returning 1)
     select count(*)::int as gone from gone`,
  ),
);

// An open registration that never got a token goes after a day, one that was used after a month of rest; never one with a living family.
const SWEEP_REGISTRATIONS = statement(
  "sweep_registrations",
  `with gone as (
     delete from clients where id in (
       select id from clients where origin = 'dynamic'
         and coalesce(last_used_at + interval '30 days', created_at + interval '1 day') < now()
         and not exists (
           select 1 from grants join refresh_families on refresh_families.grant_id = grants.id
           where grants.client_id = clients.client_id and grants.revoked_at is null
             and refresh_families.revoked_at is null and refresh_families.expires_at > now())
       limit ${BATCH} for update skip locked)
     returning client_id),
   forgotten as (${dropConsents("client_id in (select client_id from gone)")}),
   logged as (
     insert into audit_records (event, outcome, reason, actor_type, actor_id, client_id)
     select 'client.deleted', 'success', 'registration_unused', 'service', 'sweep', client_id from gone)
   select count(*)::int as gone from gone`,
);

// What was counted in a minute that is over becomes one record.
const SWEEP_REFUSED_EXCHANGES = statement(
  "sweep_refused_exchanges",
  `with gone as (
     delete from refused_exchanges where ctid = any(array(
       select ctid from refused_exchanges where minute < date_trunc('minute', now()) limit ${BATCH} for update skip locked))
     returning client_id, address, reason, requests),
   logged as (
     insert into audit_records (event, outcome, reason, actor_type, actor_id, client_id, grant_type, act_chain, address, repeats)
     select 'token.refused', 'failure', reason, 'client', client_id, client_id, '${TOKEN_EXCHANGE}', array[client_id], nullif(address, ''), requests - 1
     from gone where requests > 1)
   select count(*)::int as gone from gone`,
);

const LOCK = 7_235_107_482;
const TAKE_LOCK = statement("sweep_lock", "select pg_try_advisory_xact_lock($1::float8::bigint) as taken");

/** Each table in a transaction of its own, so that no lock is kept while another table is swept. */
const sweepOne = (sql: Sql, one: Statement): Promise<number> =>
  sql.transaction(async (tx) => {
    const [lock] = await tx.query<{ taken: boolean }>(TAKE_LOCK, [LOCK]);
    if (lock?.taken !== true) return 0;
    const [row] = await tx.query<{ gone: number }>(one, []);
    return row?.gone ?? 0;
  });

/**
 * Removes what has expired, a batch of each table; one process at a time does so, and who comes meanwhile does nothing.
 * @returns rows that went, and whether a table may hold more
 */
export async function sweep(sql: Sql): Promise<{ readonly gone: number; readonly more: boolean }> {
  let gone = 0;
  let more = false;
  for (const one of [...SWEEPS, SWEEP_REGISTRATIONS, SWEEP_REFUSED_EXCHANGES]) {
    const count = await sweepOne(sql, one);
    gone += count;
    more ||= count === BATCH;
  }
  return { gone, more };
}
