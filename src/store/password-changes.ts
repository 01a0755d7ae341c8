import type { PasswordChanges } from "../accounts/password-change.ts";
import type { MailMessage, User } from "../accounts/ports.ts";
import type { AuditEntry } from "../audit.ts";
import { isUuid } from "../random.ts";
import { insertAudit, record } from "./audit-log.ts";
import { MAIL_INPUT, NOTICE_TTL, queueMail, unsend } from "./outbox.ts";
import { endSignIns, endUnproven } from "./session-revocation.ts";
import { startSession } from "./sessions.ts";
import { hex, isStorable, jsonRows, type Sql, statement } from "./sql.ts";
import { USERS } from "./tables/accounts.ts";
import { emailKey, USER } from "./users.ts";

// Locks the link before its mails, as using it does (docs/decisions/0014).
const ISSUE = statement(
  "password_reset_issue",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(email_key text, token_hash text, ttl int, ${MAIL_INPUT}, audit jsonb)),
   account as (
     select input.*, users.id as user_id, users.email as recipient from input join users using (email_key) where users.enabled),
   link as (
     insert into password_resets (user_id, token_hash, expires_at)
     select user_id, decode(token_hash, 'hex'), now() + make_interval(secs => ttl) from account
     on conflict (user_id) do update set token_hash = excluded.token_hash, created_at = now(), expires_at = excluded.expires_at
     returning user_id),
   unsent as (${unsend("(select user_id from link)", "reset")}),
   queued as (${queueMail("account", "reset")}),
   audited as (select audit || jsonb_build_object('userId', user_id) as audit from account)
   ${insertAudit("audited")}`,
);

const OWNER = statement(
  "password_reset_owner",
  `select ${USERS.select(USER)} from password_resets join users on users.id = user_id and users.enabled
   where token_hash = $1::bytea and expires_at > now()`,
);

// Locks the user before the link and everything else (docs/decisions/0014).
const HOLD_OWNER = statement(
  "password_reset_hold_owner",
  `select users.id::text, users.email_verified from password_resets join users on users.id = user_id
   where token_hash = $1::bytea and expires_at > now() and users.enabled for no key update of users`,
);

const CONSUME = statement(
  "password_reset_consume",
  `with used as (
     delete from password_resets using users
     where token_hash = $1::bytea and expires_at > now() and users.id = user_id and users.enabled returning user_id)
   select ${USERS.select(USER)} from used join users on users.id = used.user_id`,
);
const VERIFY = statement("password_reset_prove", "update users set email_verified = true, updated_at = now() where id = $1::uuid");
/** Sets a user's password, whether or not one exists. */
export const SET_PASSWORD = statement(
  "password_set",
  `insert into credentials (user_id, type, password_hash) values ($1::uuid, 'password', $2)
   on conflict (user_id, type) do update set
     password_hash = excluded.password_hash, generation = credentials.generation + 1, updated_at = now()`,
);

// In the lock order of a reset, so that the two cannot deadlock.
const DROP_RESET = statement("password_reset_drop", "delete from password_resets where user_id = $1::uuid");
const REPLACE = statement(
  "password_replace",
  `update credentials set password_hash = $3, generation = generation + 1, updated_at = now()
   where user_id = $1::uuid and type = 'password' and generation = $2::int returning 1 as one`,
);

const NOTIFY = statement(
  "password_notify",
  `with input as (select * from jsonb_to_recordset($2::jsonb) as i(${MAIL_INPUT}, ttl int)),
   account as (select input.*, users.id as user_id, users.email as recipient from input, users where users.id = $1::uuid),
   unsent as (${unsend("$1::uuid", "reset")})
   ${queueMail("account", "notice")}`,
);

const notify = (tx: Pick<Sql, "query">, userId: string, mail: MailMessage): Promise<unknown> =>
  tx.query(NOTIFY, [userId, jsonRows([{ ...mail, ttl: NOTICE_TTL }])]);

/** The link came by mail, which verifies the address. */
async function verifyAddress(tx: Pick<Sql, "query">, userId: string, audit: AuditEntry): Promise<void> {
  await endUnproven(tx, userId);
  await tx.query(VERIFY, [userId]);
  await record(tx, { ...audit, event: "user.verified", reason: "password_reset" });
}

export const passwordChanges = (sql: Sql): PasswordChanges => ({
  issueReset: async (email, { tokenHash, ttl }, mail, audit) => {
    const key = isStorable(email) ? emailKey(email) : null;
    await sql.query(ISSUE, [jsonRows([{ email_key: key, token_hash: hex(tokenHash), ttl, ...mail, audit }])]);
  },
  ownerOfReset: async (tokenHash) => (await sql.query<User>(OWNER, [tokenHash]))[0],
  reset: (tokenHash, passwordHash, mail, audit) =>
    sql.transaction(async (tx) => {
      const [owner] = await tx.query<{ id: string; email_verified: boolean }>(HOLD_OWNER, [tokenHash]);
      const [user] = await tx.query<User>(CONSUME, [tokenHash]);
      if (user === undefined) return undefined;
      if (owner?.email_verified === false) await verifyAddress(tx, user.id, audit);
      await tx.query(SET_PASSWORD, [user.id, passwordHash]);
      await endSignIns(tx, user.id);
      await notify(tx, user.id, mail);
      await record(tx, audit);
      return user;
    }),
  change: async ({ userId, generation, passwordHash, session }, mail, audits) => {
    if (!isUuid(userId)) return undefined;
    return sql.transaction(async (tx) => {
      await tx.query(DROP_RESET, [userId]);
      if ((await tx.query(REPLACE, [userId, generation, passwordHash])).length === 0) return undefined;
      await endSignIns(tx, userId);
      await notify(tx, userId, mail);
      await record(tx, audits.change);
      return startSession(tx, session, audits.session);
    });
  },
});
