import type { MailMessage, Outbox, QueuedMail } from "../accounts/ports.ts";
import type { Notices } from "../management/ports.ts";
import { deleteInOrder, execute, type Sql, statement, statements, type Tx } from "./sql.ts";

/** The members of a MailMessage, for jsonb_to_recordset. */
export const MAIL_INPUT = "subject text, text text, html text";

/** Seconds until a notice is no longer worth sending. */
export const NOTICE_TTL = 86_400;

/** Deletes the unsent mails to a user with which a password can be reset. @param userId SQL expression, or a query in brackets */
export const unsend = (userId: string): string => deleteInOrder("outbox", "id", `user_id = ${userId} and about = 'reset'`);

/**
 * An insert into the outbox, as a CTE beside the effect that it is about.
 * @param source a from-item with the columns of MAIL_INPUT, `recipient`, `user_id`, and `ttl` (seconds)
 */
export const queueMail = (source: string, about: "verification" | "reset" | "notice"): string =>
  `insert into outbox (recipient, subject, text, html, user_id, about, expires_at)
   select recipient, subject, text, html, user_id, '${about}', now() + make_interval(secs => ttl) from ${source}`;

const NOTICE = statement(
  "outbox_notice",
  `with notice as (
     select coalesce($2, users.email) as recipient, $3 as subject, $4 as text, $5 as html, users.id as user_id, ${NOTICE_TTL} as ttl
     from users where users.id = $1::uuid and users.deleted_at is null)
   ${queueMail("notice", "notice")}`,
);

/** Queues a mail to a user, in the transaction of its cause. @param to an address other than the user's own */
export async function notifyUser(tx: Tx, userId: string, { subject, text, html }: MailMessage, to: string | null = null): Promise<void> {
  await tx.query(NOTICE, [userId, to, subject, text, html]);
}

export const notices = (sql: Sql): Notices => ({ send: (userId, to, mail) => notifyUser(sql, userId, mail, to) });

const SQL = statements("outbox", {
  // A lease is a due time in the future: when a process dies, its mails are due again after it. An array is computed once; a sub-select that
  // is joined can be computed for each row, and then locks more than the limit.
  claim: `update outbox set due_at = now() + make_interval(secs => $2::int)
   where id = any(array(select id from outbox where due_at <= now() order by due_at limit $1::int for update skip locked))
   returning id::text, recipient as "to", subject, text, html, attempts, floor(extract(epoch from expires_at - now()))::float8 as left`,
  remove: "delete from outbox where id = $1::uuid",
  postpone: "update outbox set attempts = attempts + 1, due_at = now() + make_interval(secs => $2::int) where id = $1::uuid",
  postponed: "select count(*)::int as count from outbox where attempts > 0",
});

/** How many mails wait that could not be sent at least once. */
export async function postponedMails(sql: Tx): Promise<number> {
  const [row] = await sql.query<{ count: number }>(SQL.postponed, []);
  return row?.count ?? 0;
}

export function outbox(sql: Sql): Outbox {
  const remove = (id: string): Promise<void> => execute(sql, SQL.remove, [id]);
  return {
    claim: (limit, lease) => sql.query<QueuedMail>(SQL.claim, [limit, lease]),
    delivered: remove,
    postponed: (id, afterSeconds) => execute(sql, SQL.postpone, [id, afterSeconds]),
    abandoned: remove,
  };
}
