import type { PasswordChanges } from "../accounts/change-ports.ts";
import type { MailMessage, NewSessionRecord, User } from "../accounts/ports.ts";
import type { AuditEntry } from "../audit.ts";
import { isUuid } from "../random.ts";
import { insertAudit, record } from "./audit-log.ts";
import { holdSessionsOf, holdUser } from "./held-sessions.ts";
import { MAIL_INPUT, notifyUser, queueMail, unsend } from "./outbox.ts";
import { endSignIns, endUnproven } from "./session-revocation.ts";
import { startSession } from "./sessions.ts";
import { firstRow, hex, isStorable, jsonRows, type Sql, seconds, statement, statements, type Tx, undoable } from "./sql.ts";
import { USERS } from "./tables/accounts.ts";
import { emailKey, USER } from "./users.ts";
/**
 * Sets a user's password, whether or not one exists. The generation of a new one is random, so that a sign-in that has proved a password
 * which was removed since does not count for it.
 */
export const SET_PASSWORD = statement(
  "password_set",
  `insert into credentials (user_id, type, password_hash, generation)
   values ($1::uuid, 'password', $2, 1 + floor(random() * 1000000000)::int)
   on conflict (user_id, type) do update set
     password_hash = excluded.password_hash, generation = credentials.generation + 1, updated_at = now()`,
);

const SQL = statements("password", {
  // Locks the user, who may be deleted or get another address just then, and the link before its mails, as using it does (docs/decisions/0014).
  resetIssue: `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(email_key text, token_hash text, ttl int, ${MAIL_INPUT}, audit jsonb)),
   account as (
     select input.*, users.id as user_id, users.email as recipient from input join users using (email_key) where users.enabled
     for no key update of users),
   link as (
     insert into password_resets (user_id, token_hash, expires_at)
     select user_id, decode(token_hash, 'hex'), now() + make_interval(secs => ttl) from account
     on conflict (user_id) do update set token_hash = excluded.token_hash, created_at = now(), expires_at = excluded.expires_at
     returning user_id),
   unsent as (${unsend("(select user_id from link)")}),
   queued as (${queueMail("account", "reset")}),
   audited as (select audit || jsonb_build_object('userId', user_id) as audit from account)
   ${insertAudit("audited")}`,
  resetOwner: `select ${USERS.select(USER)} from password_resets join users on users.id = user_id and users.enabled
   where token_hash = $1::bytea and expires_at > now()`,
  // Locks the user before the link and everything else (docs/decisions/0014).
  resetHoldOwner: `select users.id::text, users.email_verified from password_resets join users on users.id = user_id
   where token_hash = $1::bytea and expires_at > now() and users.enabled for no key update of users`,
  resetConsume: `with used as (
     delete from password_resets using users
     where token_hash = $1::bytea and expires_at > now() and users.id = user_id and users.enabled returning user_id)
   select ${USERS.select(USER)} from used join users on users.id = used.user_id`,
  resetProve: "update users set email_verified = true, updated_at = now() where id = $1::uuid",
  provedSession: `select ${seconds("proved_at")} as "provedAt", proved_acr as acr, amr from sessions join users on users.id = user_id and users.epoch = user_epoch
   where token_hash = $2::bytea and user_id = $1::uuid and ended_at is null and expires_at > now()`,
  resetDrop: "delete from password_resets where user_id = $1::uuid",
  dropResetMails: unsend("$1::uuid"),
});

async function notify(tx: Tx, userId: string, mail: MailMessage): Promise<void> {
  await tx.query(SQL.dropResetMails, [userId]);
  await notifyUser(tx, userId, mail);
}

/** How the user of a session proved who they are. */
type Proof = Required<Pick<NewSessionRecord, "acr" | "amr" | "provedAt">>;

/** The link came by mail, which verifies the address. */
async function verifyAddress(tx: Tx, userId: string, audit: AuditEntry): Promise<void> {
  await endUnproven(tx, userId);
  await tx.query(SQL.resetProve, [userId]);
  await record(tx, { ...audit, event: "user.verified", reason: "password_reset" });
}

export const passwordChanges = (sql: Sql): PasswordChanges => ({
  issueReset: async (email, { tokenHash, ttl }, mail, audit) => {
    const key = isStorable(email) ? emailKey(email) : null;
    await sql.query(SQL.resetIssue, [jsonRows([{ email_key: key, token_hash: hex(tokenHash), ttl, ...mail, audit }])]);
  },
  ownerOfReset: (tokenHash) => firstRow<User>(sql, SQL.resetOwner, [tokenHash]),
  reset: (tokenHash, passwordHash, mail, audit) =>
    sql.transaction(async (tx) => {
      const [owner] = await tx.query<{ id: string; email_verified: boolean }>(SQL.resetHoldOwner, [tokenHash]);
      if (owner === undefined) return undefined; // enabled only now, the user is not locked
      const [user] = await tx.query<User>(SQL.resetConsume, [tokenHash]);
      if (user === undefined) return undefined;
      await tx.query(SET_PASSWORD, [user.id, passwordHash]); // before sessions, as a sign-in locks them
      if (!owner.email_verified) await verifyAddress(tx, user.id, audit);
      await endSignIns(tx, user.id);
      await notify(tx, user.id, mail);
      await record(tx, audit);
      return user;
    }),
  change: async ({ provedBy, passwordHash, session }, mail, audits) => {
    const { userId } = session;
    if (!isUuid(userId)) return undefined;
    return undoable(sql, async (tx, undo) => {
      // The user first, as a reset does: of two changes the second sees that its session has ended.
      await holdUser(tx, userId);
      await tx.query(SQL.resetDrop, [userId]);
      await tx.query(SET_PASSWORD, [userId, passwordHash]);
      // After the password, as a sign-in locks them. What ends this session alone waits, or this waits and finds it ended.
      await holdSessionsOf(tx, userId);
      const [proof] = await tx.query<Proof>(SQL.provedSession, [userId, provedBy]);
      if (proof === undefined) return undo(undefined);
      await endSignIns(tx, userId);
      await notify(tx, userId, mail);
      await record(tx, audits.change);
      return startSession(tx, { ...session, ...proof, carried: true }, audits.session);
    });
  },
});
