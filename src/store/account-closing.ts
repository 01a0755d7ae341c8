import type { AccountClosing } from "../accounts/change-ports.ts";
import type { MailMessage } from "../accounts/ports.ts";
import { record } from "./audit-log.ts";
import { dropCodes, dropConsents, endGrants } from "./grant-rows.ts";
import { holdRemover, holdSessionsOf } from "./held-sessions.ts";
import { MAIL_INPUT, NOTICE_TTL, queueMail } from "./outbox.ts";
import { REMOVAL_BATCH } from "./removal-steps.ts";
import { begun, EVERY_EPOCH, enqueueRemoval } from "./removals.ts";
import { endAllSessions } from "./session-revocation.ts";
import { deleteInOrder, firstRow, jsonRows, rowsOf, type Sql, statements, type Tx } from "./sql.ts";

/** Consents that the user gave, and those that others gave the user's clients. */
const CONCERNED = "(user_id = $1::uuid or client_id = any($2::text[]))";
/** What the user's clients hold as agents: a client that gets such a client_id later inherits none of it. */
const HELD = "actor = any($2::text[]) and cut_at is null and expires_at > now()";

/** In the order in which they run. */
const WAYS_IN = statements("account", {
  dropWalletLinks: deleteInOrder("wallet_links", "handle_hash", "user_id = $1::uuid"),
  dropReset: "delete from password_resets where user_id = $1::uuid",
  // In the lock order of sign-ins and new passwords; without a password, passkey or linked identity no session can start. Left to the foreign
  // keys, a challenge or code that is being used would be waited for with the user locked as for a deletion.
  dropIdentities: "delete from identity_links where user_id = $1::uuid",
  dropChallenges: deleteInOrder("proof_challenges", "id_hash", "user_id = $1::uuid"),
  dropCredentials: "delete from credentials where user_id = $1::uuid",
  dropPasskeys: deleteInOrder("passkeys", "id", "user_id = $1::uuid"),
  dropRecoveryCodes: deleteInOrder("recovery_codes", "code_hash", "user_id = $1::uuid"),
});
const AFTER_SESSIONS = statements("account", {
  cutHeld: `update delegations set cut_at = now() where $1::uuid is not null
   and id = any(array(select id from delegations where ${HELD} order by path for no key update))`,
  // Runs after the end of the sessions and clients, so that it sees what was being stored for them (Sessions.endAll, ManagedClients.delete).
  dropConsents: dropConsents(CONCERNED),
  dropCodes: dropCodes(CONCERNED),
  endGrants: `with ${endGrants(CONCERNED)} select 1 as one from ended`,
});
const ROWS = statements("account", {
  // Storing a delegation locks its parent, then its grant and user (Delegations.record).
  dropDelegations: deleteInOrder("delegations", "id", "user_id = $1::uuid", "path"),
  dropGrants: deleteInOrder("grants", "id", "user_id = $1::uuid"),
  dropMails: deleteInOrder("outbox", "id", "user_id = $1::uuid"),
  // Foreign keys delete all other rows of the user. A trigger writes the revocation event (migration 0001).
  deleteUser: "delete from users where id = $1::uuid",
});

const SQL = statements("account", {
  role: "select role from users where id = $1::uuid",
  // Locked in one order: of two operators who close their accounts, or disable or demote each other, at once, the second is refused. The values
  // are those after the wait, also of the user $1, who may just be becoming an operator.
  lockOperators: `select id::text, role = 'operator' and enabled as "isOperator" from users
   where id = any(array(select id from users where role = 'operator' and enabled union all select $1::uuid)) order by id for no key update`,
  // Locks in the order of docs/decisions/0014, the user first and last: as for a change, so that rows that refer to the user can still be
  // inserted, and then as for a deletion, once no other transaction holds any of its rows.
  hold: "select role from users where id = $1::uuid and deleted_at is null for no key update",
  lastMail: `with mail as (
     select input.*, null::uuid as user_id, users.email as recipient
     from jsonb_to_recordset($2::jsonb) as input(${MAIL_INPUT}, ttl int), users where users.id = $1::uuid)
   ${queueMail("mail", "notice")}`,
  deleteClients: `with deleted as (${deleteInOrder("clients", "id", "owner_id = $1::uuid")} returning client_id),
   logged as (
     insert into audit_records (event, outcome, reason, actor_type, actor_id, user_id, client_id)
     select 'client.deleted', 'success', 'owner_deleted', 'user', $1::text, $1::text, client_id from deleted)
   select client_id from deleted`,
  /** Whether one transaction can delete everything, well within the deadline of a statement. */
  isSmall: `select not exists (${[
    `select 1 from grants where ${CONCERNED}`,
    `select 1 from consents where ${CONCERNED}`,
    "select 1 from sessions where user_id = $1::uuid",
    "select 1 from delegations where user_id = $1::uuid",
    `select 1 from delegations where ${HELD}`,
    "select 1 from outbox where user_id = $1::uuid",
    "select 1 from grants join refresh_families family on family.grant_id = grants.id join refresh_tokens on family_id = family.id where user_id = $1::uuid",
  ]
    .map((rows) => `(${rows} offset ${REMOVAL_BATCH} limit 1)`)
    .join(" union all ")}) as small`,
  // Addresses and names are gone at once; all else of a large account is inactive until it is deleted after the commit.
  markDeleted: `with tokens as (delete from verification_tokens where user_id = $1::uuid),
   changes as (delete from address_changes where user_id = $1::uuid)
   update users set enabled = false, epoch = epoch + 1, deleted_at = now(), updated_at = now(), role = 'developer', email_verified = false,
     email = id || '@deleted.invalid', email_key = id || '@deleted.invalid', first_name = null, last_name = null
   where id = $1::uuid`,
  /** Mails whose links work no more. */
  dropLinkMails: deleteInOrder("outbox", "id", "user_id = $1::uuid and about in ('verification', 'reset')"),
});

export const accountClosing = (sql: Sql): AccountClosing => ({
  close: (userId, sessionId, mail, audit) =>
    sql.transaction(async (tx) => {
      const isLast = async (user?: { role: string }) => user?.role === "operator" && (await isLastOperator(tx, userId));
      if (await isLast(await firstRow(tx, SQL.role, [userId]))) return "last_operator";
      const held = await firstRow<{ role: string }>(tx, SQL.hold, [userId]);
      if (held === undefined) return "gone";
      if (await isLast(held)) return "last_operator"; // became an operator after the first look
      const clients = (await tx.query<{ client_id: string }>(SQL.deleteClients, [userId])).map(({ client_id }) => client_id);
      for (const each of Object.values(WAYS_IN)) await tx.query(each, [userId]);
      await holdSessionsOf(tx, userId); // after what a sign-in locks before its session
      await holdRemover(tx, userId, sessionId);
      const [size] = await tx.query<{ small: boolean }>(SQL.isSmall, [userId, clients]);
      if (size?.small !== true) {
        await leaveToBackground(tx, userId, clients, mail);
        await record(tx, audit);
        return "closed";
      }
      await endAllSessions(tx, userId);
      for (const each of Object.values(AFTER_SESSIONS)) await tx.query(each, [userId, clients]);
      await queueLastMail(tx, userId, mail);
      for (const each of Object.values(ROWS)) await tx.query(each, [userId]);
      await record(tx, audit);
      return "closed";
    }),
});

const queueLastMail = (tx: Tx, userId: string, mail: MailMessage): Promise<unknown> =>
  tx.query(SQL.lastMail, [userId, jsonRows([{ ...mail, ttl: NOTICE_TTL }])]);

/** Closes an account of any size at once; its rows, and the consents that others gave its clients, are deleted after the commit. */
async function leaveToBackground(tx: Tx, userId: string, clients: readonly string[], mail: MailMessage): Promise<void> {
  await queueLastMail(tx, userId, mail);
  for (const each of [SQL.markDeleted, SQL.dropLinkMails]) await tx.query(each, [userId]);
  // Clients that were being registered when the first were deleted; from here on the mark keeps others out.
  const late = await tx.query<{ client_id: string }>(SQL.deleteClients, [userId]);
  for (const clientId of [...clients, ...late.map(({ client_id }) => client_id)])
    await enqueueRemoval(tx, begun("client_deleted", clientId, EVERY_EPOCH));
  await enqueueRemoval(tx, begun("user_deleted", userId, EVERY_EPOCH));
}

/** Whether no other operator is enabled. Until the transaction ends, all of them stay as they are. */
export async function isLastOperator(tx: Tx, userId: string): Promise<boolean> {
  const locked = await rowsOf<{ id: string; isOperator: boolean }>(tx, SQL.lockOperators, [userId]);
  const operators = locked.filter(({ isOperator }) => isOperator);
  return operators.length === 1 && operators[0]?.id === userId;
}
