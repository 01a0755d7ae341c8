import { performance } from "node:perf_hooks";
import { TOKEN_EXCHANGE } from "../protocol/grants.ts";
import { dropConsents } from "./grant-rows.ts";
import { type Sql, type Statement, statement } from "./sql.ts";

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
  revocation_events: "expires_at < now() - interval '1 hour'",
  revocations: "expires_at < now() - interval '1 hour'",
  consumed_ids: "expires_at < now() - interval '1 hour'",
  delegations: "expires_at < now() - interval '1 day'",
  detached_signatures: "expires_at < now()",
  refresh_families: "expires_at < now() - interval '1 day'",
  // No family outlives 90 days; a grant without one has no token that lives longer than a day. It goes once nothing hangs on it, for what
  // goes by a foreign key cannot be skipped when somebody holds it. Counted, and not asked by `not exists`: that may become a join, or a
  // search for the first match, that reads the whole of the other table.
  grants: ["refresh_families", "delegations", "authorization_codes"].reduce(
    (condition, table) => `${condition} and (select count(*) from ${table} where grant_id = grants.id) = 0`,
    "created_at < now() - interval '91 days'",
  ),
};

interface Sweep {
  readonly table: string;
  readonly statement: Statement;
}

const SWEEPS: readonly Sweep[] = Object.entries(EXPIRED).map(([table, expired]) => ({
  table,
  statement: statement(
    `sweep_${table}`,
    `with gone as (
       delete from ${table} where ctid = any(array(select ctid from ${table} where ${expired} limit $1::int for update skip locked)) returning 1)
     select count(*)::int as gone from gone`,
  ),
}));

// An open registration that never got a token goes after a day, one that was used after a month of rest; never one with a living family.
const SWEEP_REGISTRATIONS = statement(
  "sweep_registrations",
  `with gone as (
     delete from clients where id = any(array(
       select id from clients where origin = 'dynamic'
         and (last_used_at < now() - interval '30 days' or (last_used_at is null and created_at < now() - interval '1 day'))
         and (
           select count(*) from grants where grants.client_id = clients.client_id and grants.revoked_at is null and (
             select count(*) from refresh_families
             where grant_id = grants.id and refresh_families.revoked_at is null and refresh_families.expires_at > now()) > 0) = 0
       limit $1::int for update skip locked))
     returning client_id),
   forgotten as (${dropConsents("client_id = any(array(select client_id from gone))")}),
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
       select ctid from refused_exchanges where minute < date_trunc('minute', now()) limit $1::int for update skip locked))
     returning client_id, address, reason, requests),
   logged as (
     insert into audit_records (event, outcome, reason, actor_type, actor_id, client_id, grant_type, act_chain, address, repeats)
     select 'token.refused', 'failure', reason, 'client', client_id, client_id, '${TOKEN_EXCHANGE}', array[client_id], nullif(address, ''), requests - 1
     from gone where requests > 1)
   select count(*)::int as gone from gone`,
);

const ALL: readonly Sweep[] = [
  ...SWEEPS,
  { table: "clients", statement: SWEEP_REGISTRATIONS },
  { table: "refused_exchanges", statement: SWEEP_REFUSED_EXCHANGES },
];
/** What may go only when something else has gone comes after all of that. */
const STAGES = [ALL.filter(({ table }) => table !== "grants"), ALL.filter(({ table }) => table === "grants")];

/** One for each table, so that a process which meets another one at a table goes on to the next. */
const FIRST_LOCK = 723_510_748_200;
const lockOf = (one: Sweep): number => FIRST_LOCK + ALL.indexOf(one);
const TAKE_LOCK = statement("sweep_lock", "select pg_try_advisory_xact_lock($1::float8::bigint) as taken");

/** A batch in a transaction of its own, so that no lock is kept while another table is swept. */
const sweepBatch = (sql: Sql, one: Sweep, size: number): Promise<number> =>
  sql.transaction(async (tx) => {
    const [lock] = await tx.query<{ taken: boolean }>(TAKE_LOCK, [lockOf(one)]);
    if (lock?.taken !== true) return 0;
    const [row] = await tx.query<{ gone: number }>(one.statement, [size]);
    return row?.gone ?? 0;
  });

/** Rows of a batch: what others may have to wait for. On the embedded database everybody waits for the whole of it. */
export const SWEEP_BATCH = { embedded: 500, postgresql: 4_000 } as const;
const FIRST = 500;
/** Milliseconds that a batch may take: a longer one is followed by smaller ones, a shorter one by larger ones. */
const SHORT = 50;
const LONG = 150;

/** How many rows the next batch takes. Pure. @param milliseconds that the last one took; undefined when it failed */
export function nextBatch(size: number, most: number, milliseconds: number | undefined): number {
  if (milliseconds === undefined) return Math.max(1, Math.trunc(size / 4));
  if (milliseconds > LONG) return Math.max(1, Math.trunc(size / 2));
  return milliseconds < SHORT ? Math.min(most, size * 2) : size;
}

export interface SweepOptions {
  /** Ends the sweep after the batch under way. */
  readonly signal?: AbortSignal;
  /** Rows of one batch at most. */
  readonly most?: number;
  /** Milliseconds of rest after a batch that took so many, so that the database serves others meanwhile. */
  readonly rest?: (milliseconds: number) => Promise<unknown>;
  readonly swept?: (table: string, rows: number) => void;
  readonly failed?: (table: string, error: unknown) => void;
}

interface Course {
  readonly sweep: Sweep;
  size: number;
  /** Batches of this sweep that failed one after the other. */
  failures: number;
}

/** Failed batches of one table, each smaller than the one before, after which it is left to the next sweep. */
const PATIENCE = 4;

/** One batch. @returns rows that went, and whether the table may hold more */
async function advance(sql: Sql, course: Course, options: SweepOptions): Promise<{ readonly gone: number; readonly more: boolean }> {
  const { most = FIRST, rest, swept, failed } = options;
  const { sweep, size } = course;
  const began = performance.now();
  try {
    const gone = await sweepBatch(sql, sweep, size);
    const took = performance.now() - began;
    course.failures = 0;
    course.size = nextBatch(size, most, took);
    if (gone > 0) {
      swept?.(sweep.table, gone);
      await rest?.(took);
    }
    return { gone, more: gone === size };
  } catch (error) {
    failed?.(sweep.table, error);
    course.failures += 1;
    course.size = nextBatch(size, most, undefined);
    return { gone: 0, more: course.failures < PATIENCE };
  }
}

/**
 * Removes what has expired until nothing is left, a batch of each table in turn, so that no table waits for another. One process at a time
 * sweeps a table; another one finds nothing to do there. A table whose batch fails is tried with smaller ones.
 * @returns rows that went, and whether there may be more: the sweep was stopped, or a table failed
 */
export async function sweep(sql: Sql, options: SweepOptions = {}): Promise<{ readonly gone: number; readonly more: boolean }> {
  const outcome = { gone: 0, more: false };
  for (const stage of STAGES) {
    const { gone, more } = await sweepStage(sql, stage, options);
    outcome.gone += gone;
    outcome.more ||= more;
  }
  return outcome;
}

async function sweepStage(sql: Sql, stage: readonly Sweep[], options: SweepOptions): ReturnType<typeof sweep> {
  const { signal, most = FIRST } = options;
  let courses: readonly Course[] = stage.map((one) => ({ sweep: one, size: Math.min(FIRST, most), failures: 0 }));
  let total = 0;
  let incomplete = false;
  while (courses.length > 0) {
    const left: Course[] = [];
    for (const course of courses) {
      if (signal?.aborted) return { gone: total, more: true };
      const { gone, more } = await advance(sql, course, options);
      total += gone;
      if (more) left.push(course);
      else incomplete ||= course.failures > 0;
    }
    courses = left;
  }
  return { gone: total, more: incomplete };
}
