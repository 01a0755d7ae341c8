import type { SignInFailures } from "../accounts/ports.ts";
import { type Sql, statement } from "./sql.ts";

// The row lock puts parallel attempts in an order, so that exactly `limit` of them are let through.
const COUNT = statement(
  "sign_in_count",
  `insert into sign_in_failures as known (key, failures, window_ends_at) values ($1::bytea, 1, now() + make_interval(secs => $3::int))
   on conflict (key) do update set
     failures = case when known.window_ends_at <= now() then 1 else least(known.failures, $2::int) + 1 end,
     window_ends_at = case when known.window_ends_at <= now() then excluded.window_ends_at else known.window_ends_at end
   returning case when failures > $2::int then greatest(1, ceil(extract(epoch from window_ends_at - now())))::int else 0 end as wait`,
);

const CLEAR = statement("sign_in_clear", "delete from sign_in_failures where key = $1::bytea");

export const signInFailures = (sql: Sql): SignInFailures => ({
  count: async (key, limit, windowSeconds) => {
    const [row] = await sql.query<{ wait: number }>(COUNT, [key, limit, windowSeconds]);
    return row?.wait ?? windowSeconds;
  },
  clear: async (key) => {
    await sql.query(CLEAR, [key]);
  },
});
