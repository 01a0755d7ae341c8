import type { AccountClosing } from "../accounts/account.ts";
import type { MailMessage } from "../accounts/ports.ts";
import { isUuid } from "../identifier.ts";
import { record } from "./audit-rows.ts";
import { dropCodes, dropConsents, endGrants } from "./grant-rows.ts";
import { MAIL_INPUT, mailRow, queueMail } from "./mail-messages.ts";
import { REMOVAL_BATCH } from "./removal-steps.ts";
import { begun, EVERY_EPOCH, enqueueRemoval } from "./removals.ts";
import { endAllSessions } from "./session-revocation.ts";
import { deleteInOrder, jsonRows, type Sql, statement } from "./sql.ts";

const ROLE = statement("account_role", "select role from users where id = $1::uuid");
// In one order for everybody: of two operators who leave at once, the second finds herself the last.
const LOCK_OPERATORS = statement(
  "account_lock_operators",
  "select id::text from users where role = 'operator' and enabled order by id for no key update",
);

// Everything is held in the order of docs/decisions/0014-locks-in-one-order.md, the person first and last: held as for a change, so that whatever hangs itself on the
// person meanwhile need not wait, and deleted when nobody holds anything of it any more.
const HOLD = statement("account_hold", "select 1 as one from users where id = $1::uuid and deleted_at is null for no key update");
const DROP_LINKS = statement("account_drop_wallet_links", deleteInOrder("wallet_links", "handle_hash", "user_id = $1::uuid"));
// In the order in which sign-ins and new passwords take their locks; without a password nothing starts any more.
const DROP_RESET = statement("account_drop_reset", "delete from password_resets where user_id = $1::uuid");
const DROP_CREDENTIALS = statement("account_drop_credentials", "delete from credentials where user_id = $1::uuid");

const LAST_MAIL = statement(
  "account_last_letter",
  `with letter as (
     select input.*, null::uuid as user_id, users.email as recipient
     from jsonb_to_recordset($2::jsonb) as input(${MAIL_INPUT}, ttl int), users where users.id = $1::uuid)
   ${queueMail("letter", "notice")}`,
);

const DELETE_CLIENTS = statement(
  "account_delete_clients",
  `with deleted as (${deleteInOrder("clients", "id", "owner_id = $1::uuid")} returning client_id),
   logged as (
     insert into audit_records (event, outcome, reason, actor_type, actor_id, user_id, client_id)
     select 'client.deleted', 'success', 'owner_deleted', 'user', $1::text, $1::text, client_id from deleted)
   select client_id from deleted`,
);
/** What the person allowed, and what others allowed the person's clients. */
const CONCERNED = "(user_id = $1::uuid or client_id = any($2::text[]))";
// In statements after the end of the sessions and clients: what was being born of them is seen there (Sessions.endAll,
// ManagedClients.delete).
const DROP_CONSENTS = statement("account_drop_consents", dropConsents(CONCERNED));
const DROP_CODES = statement("account_drop_codes", dropCodes(CONCERNED));
const END_GRANTS = statement("account_end_grants", `with ${endGrants(CONCERNED)} select 1 as one from ended`);
// What is being stored below a delegation holds that, and then its grant and its person (Delegations.record).
const DROP_DELEGATIONS = statement("account_drop_delegations", deleteInOrder("delegations", "id", "user_id = $1::uuid", "path"));
const DROP_GRANTS = statement("account_drop_grants", deleteInOrder("grants", "id", "user_id = $1::uuid"));
const DROP_MAIL = statement("account_drop_letters", deleteInOrder("outbox", "id", "user_id = $1::uuid"));

// Everything else that is the person's goes by its foreign key. A trigger marks the person for guards (migration 0001).
const DELETE_USER = statement("account_delete_user", "delete from users where id = $1::uuid");

/** Whether all of it goes in one transaction well within the time that a statement has. */
const IS_SMALL = statement(
  "account_is_small",
  `select not exists (${[
    `select 1 from grants where ${CONCERNED}`,
    `select 1 from consents where ${CONCERNED}`,
    "select 1 from sessions where user_id = $1::uuid",
    "select 1 from delegations where user_id = $1::uuid",
    "select 1 from outbox where user_id = $1::uuid",
    "select 1 from grants join refresh_families family on family.grant_id = grants.id join refresh_tokens on family_id = family.id where user_id = $1::uuid",
  ]
    .map((rows) => `(${rows} offset ${REMOVAL_BATCH} limit 1)`)
    .join(" union all ")}) as small`,
);
// What is left of a large account belongs to nobody: no address, no name, no way in, and nothing of it counts any more.
const MARK_DELETED = statement(
  "account_mark_deleted",
  `with links as (delete from identity_links where user_id = $1::uuid),
   tokens as (delete from verification_tokens where user_id = $1::uuid)
   update users set enabled = false, epoch = epoch + 1, deleted_at = now(), updated_at = now(), role = 'developer', email_verified = false,
     email = id || '@deleted.invalid', email_key = id || '@deleted.invalid', first_name = null, last_name = null
   where id = $1::uuid`,
);

/** The last letter is worth sending for a day. */
const NEWS = 86_400;

export const accountClosing = (sql: Sql): AccountClosing => ({
  close: async (userId, letter, audit) => {
    if (!isUuid(userId)) return "gone";
    return sql.transaction(async (tx) => {
      const [user] = await tx.query<{ role: string }>(ROLE, [userId]);
      if (user?.role === "operator" && (await isLastOperator(tx, userId))) return "last_operator";
      if ((await tx.query(HOLD, [userId])).length === 0) return "gone";
      const clients = (await tx.query<{ client_id: string }>(DELETE_CLIENTS, [userId])).map(({ client_id }) => client_id);
      for (const each of [DROP_LINKS, DROP_RESET, DROP_CREDENTIALS]) await tx.query(each, [userId]);
      const [size] = await tx.query<{ small: boolean }>(IS_SMALL, [userId, clients]);
      if (size?.small !== true) {
        await leaveToBackground(tx, userId, clients, letter);
        await record(tx, audit);
        return "closed";
      }
      await endAllSessions(tx, userId);
      for (const each of [DROP_CONSENTS, DROP_CODES, END_GRANTS]) await tx.query(each, [userId, clients]);
      await queueLastMail(tx, userId, letter);
      for (const each of [DROP_DELEGATIONS, DROP_GRANTS, DROP_MAIL, DELETE_USER]) await tx.query(each, [userId]);
      await record(tx, audit);
      return "closed";
    });
  },
});

const queueLastMail = (tx: Pick<Sql, "query">, userId: string, letter: MailMessage): Promise<unknown> =>
  tx.query(LAST_MAIL, [userId, jsonRows([{ ...mailRow(letter), ttl: NEWS }])]);

/** Closes an account of any size at once; its rows, and what others allowed its clients, are removed after the commit. */
async function leaveToBackground(tx: Pick<Sql, "query">, userId: string, clients: readonly string[], letter: MailMessage): Promise<void> {
  for (const clientId of clients) await enqueueRemoval(tx, begun("client_deleted", clientId, EVERY_EPOCH));
  await queueLastMail(tx, userId, letter);
  await tx.query(MARK_DELETED, [userId]);
  await enqueueRemoval(tx, begun("user_deleted", userId, EVERY_EPOCH));
}

async function isLastOperator(tx: Pick<Sql, "query">, userId: string): Promise<boolean> {
  const operators = await tx.query<{ id: string }>(LOCK_OPERATORS, []);
  return operators.length === 1 && operators[0]?.id === userId.toLowerCase();
}
