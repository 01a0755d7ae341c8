import type { Outbox, QueuedMail } from "../accounts/ports.ts";
import { type Sql, statement } from "./sql.ts";

// A lease is a due time in the future: whoever dies with a mail in hand leaves it to the next one by doing nothing.
const CLAIM = statement(
  "outbox_claim",
  `update outbox set due_at = now() + make_interval(secs => $2::int)
   where id in (select id from outbox where due_at <= now() order by due_at limit $1::int for update skip locked)
   returning id::text, recipient as "to", subject, text, html, attempts, floor(extract(epoch from expires_at - now()))::float8 as left`,
);
const REMOVE = statement("outbox_remove", "delete from outbox where id = $1::uuid");
const POSTPONE = statement(
  "outbox_postpone",
  "update outbox set attempts = attempts + 1, due_at = now() + make_interval(secs => $2::int) where id = $1::uuid",
);

export function outbox(sql: Sql): Outbox {
  const remove = async (id: string): Promise<void> => {
    await sql.query(REMOVE, [id]);
  };
  return {
    claim: (limit, lease) => sql.query<QueuedMail>(CLAIM, [limit, lease]),
    delivered: remove,
    postponed: async (id, afterSeconds) => {
      await sql.query(POSTPONE, [id, afterSeconds]);
    },
    abandoned: remove,
  };
}
