import type { AccountClosing } from "../accounts/closing-ports.ts";
import { isUuid } from "../identifier.ts";
import { record } from "./audit-rows.ts";
import { dropCodes, dropConsents, endGrants } from "./grant-rows.ts";
import { LETTER_INPUT, letterRow, queueLetter } from "./letters.ts";
import { endAllSessions } from "./session-endings.ts";
import { deleteInOrder, jsonRows, type Sql, statement } from "./sql.ts";

const ROLE = statement("account_role", "select role from users where id = $1::uuid");
// In one order for everybody: of two operators who leave at once, the second finds herself the last.
const LOCK_OPERATORS = statement(
  "account_lock_operators",
  "select id::text from users where role = 'operator' and enabled order by id for no key update",
);

// Everything is held in the order of decision 0021, the person first and last: held as for a change, so that whatever hangs itself on the
// person meanwhile need not wait, and deleted when nobody holds anything of it any more.
const HOLD = statement("account_hold", "select 1 as one from users where id = $1::uuid for no key update");
const DROP_LINKS = statement("account_drop_wallet_links", deleteInOrder("wallet_links", "handle_hash", "user_id = $1::uuid"));
// In the order in which sign-ins and new passwords take their locks; without a password nothing starts any more.
const DROP_RESET = statement("account_drop_reset", "delete from password_resets where user_id = $1::uuid");
const DROP_CREDENTIALS = statement("account_drop_credentials", "delete from credentials where user_id = $1::uuid");

const LAST_LETTER = statement(
  "account_last_letter",
  `with letter as (
     select input.*, null::uuid as user_id, users.email as recipient
     from jsonb_to_recordset($2::jsonb) as input(${LETTER_INPUT}, ttl int), users where users.id = $1::uuid)
   ${queueLetter("letter", "notice")}`,
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
const DROP_LETTERS = statement("account_drop_letters", deleteInOrder("outbox", "id", "user_id = $1::uuid"));

// Everything else that is the person's goes by its foreign key. A trigger marks the person for guards (migration 0007).
const DELETE_USER = statement("account_delete_user", "delete from users where id = $1::uuid");

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
      await endAllSessions(tx, userId);
      for (const each of [DROP_CONSENTS, DROP_CODES, END_GRANTS]) await tx.query(each, [userId, clients]);
      await tx.query(LAST_LETTER, [userId, jsonRows([{ ...letterRow(letter), ttl: NEWS }])]);
      for (const each of [DROP_DELEGATIONS, DROP_GRANTS, DROP_LETTERS, DELETE_USER]) await tx.query(each, [userId]);
      await record(tx, audit);
      return "closed";
    });
  },
});

async function isLastOperator(tx: Pick<Sql, "query">, userId: string): Promise<boolean> {
  const operators = await tx.query<{ id: string }>(LOCK_OPERATORS, []);
  return operators.length === 1 && operators[0]?.id === userId.toLowerCase();
}
