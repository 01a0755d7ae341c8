import type { MailMessage } from "../accounts/ports.ts";
import { deleteInOrder, type Json } from "./sql.ts";

/** What jsonb_to_recordset makes of a letter's row. */
export const MAIL_INPUT = "subject text, text text, html text";

export const mailRow = ({ subject, text, html }: MailMessage): { readonly [member: string]: Json } => ({ subject, text, html });

/** A statement that takes back the letters about something that wait for a person. @param userId SQL expression, or a query in brackets */
export const unsend = (userId: string, about: "reset"): string =>
  deleteInOrder("outbox", "id", `user_id = ${userId} and about = '${about}'`);

/**
 * An insert into the outbox, to be put into a writing CTE beside what it tells of.
 * @param source a from-item with the columns of MAIL_INPUT, `recipient`, `user_id`, and `ttl` (seconds in which the letter has a point)
 */
export const queueMail = (source: string, about: "verification" | "reset" | "notice"): string =>
  `insert into outbox (recipient, subject, text, html, user_id, about, expires_at)
   select recipient, subject, text, html, user_id, '${about}', now() + make_interval(secs => ttl) from ${source}`;
