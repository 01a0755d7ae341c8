import type { KnownDevices } from "../accounts/caller.ts";
import type { SignInFailures } from "../accounts/ports.ts";
import { coalesceByHash } from "./coalesce.ts";
import { amongKeys, execute, firstRow, rowsStatement, statement, statements, type Tx } from "./sql.ts";

/** Seconds until a reserved attempt without an outcome no longer counts: longer than a request may take. */
const LEASE = 30;

const failures = "case when budget.window_ends_at <= now() then 0 else budget.failures end";
const pending = "case when budget.pending_until <= now() then 0 else budget.pending end";

const SQL = statements("sign_in", {
  // The row lock orders parallel attempts, so that failures and running attempts never exceed the limit. A refused attempt changes nothing.
  reserve: `with reserved as (
     insert into sign_in_failures as budget (key, failures, window_ends_at, pending, pending_until)
     values ($1::bytea, 0, now() + make_interval(secs => $3::int), 1, now() + make_interval(secs => ${LEASE}))
     on conflict (key) do update set
       failures = ${failures},
       window_ends_at = case when budget.window_ends_at <= now() then excluded.window_ends_at else budget.window_ends_at end,
       pending = ${pending} + 1,
       pending_until = excluded.pending_until
     where ${failures} + ${pending} < $2::int
     returning 1),
   spent as (
     select ceil(extract(epoch from window_ends_at - now()))::int as wait from sign_in_failures
     where key = $1::bytea and failures >= $2::int and window_ends_at > now())
   select case when exists (select 1 from reserved) then 0 else greatest(1, (select wait from spent)) end as wait`,
  // Locks both rows in the order of their keys (docs/decisions/0014).
  settle: `update sign_in_failures as budget set
     pending = greatest(0, pending - 1),
     failures = case
       when $3::text = 'wrong' then ${failures} + 1
       when $3::text = 'right' and key = $1::bytea then 0
       else failures end,
     window_ends_at = case
       when $3::text = 'wrong' and window_ends_at <= now() then now() + make_interval(secs => $4::int)
       else window_ends_at end
   where key = any(array(select key from sign_in_failures where key in ($1::bytea, $2::bytea) order by key for update))`,
  clear: "update sign_in_failures set failures = 0 where key = $1::bytea",
  count: `insert into sign_in_failures as budget (key, failures, window_ends_at, pending, pending_until)
   values ($1::bytea, 1, now() + make_interval(secs => $2::int), 0, now())
   on conflict (key) do update set
     failures = ${failures} + 1,
     window_ends_at = case when budget.window_ends_at <= now() then excluded.window_ends_at else budget.window_ends_at end`,
  countOf: "select failures from sign_in_failures where key = $1::bytea and window_ends_at > now()",
});

export const signInFailures = (sql: Tx): SignInFailures => ({
  reserve: async (key, { limit, window }) => {
    const [row] = await sql.query<{ wait: number }>(SQL.reserve, [key, limit, window]);
    return row?.wait ?? window;
  },
  settle: ({ pair, address }, verdict, window) => execute(sql, SQL.settle, [pair ?? null, address, verdict, window]),
  count: (key, window) => execute(sql, SQL.count, [key, window]),
  failures: async (key) => (await firstRow<{ failures: number }>(sql, SQL.countOf, [key]))?.failures ?? 0,
  clear: (pair) => execute(sql, SQL.clear, [pair]),
});

const KNOWN = rowsStatement(
  "device_known",
  `select encode(key_hash, 'hex') as key from known_devices
   where ${amongKeys("key_hash", "decode(key, 'hex')", "unnest($1::text[]) as key")} and expires_at > now()`,
);
const REMEMBER = statement(
  "device_remember",
  `insert into known_devices (key_hash, user_id, expires_at)
   select $1::bytea, users.id, now() + make_interval(secs => $3::int) from users where users.id = $2::uuid
   on conflict (key_hash) do update set expires_at = excluded.expires_at`,
);

export function knownDevices(sql: Tx): KnownDevices {
  const load = coalesceByHash(sql, KNOWN, () => true);
  return {
    isKnown: async (key) => (await load(key)) === true,
    remember: (key, userId, ttl) => execute(sql, REMEMBER, [key, userId, ttl]),
  };
}
