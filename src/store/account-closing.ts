import type { AccountClosing } from "../accounts/closing-ports.ts";
import { isUuid } from "../identifier.ts";
import { endGrants } from "./grant-rows.ts";
import { LETTER_INPUT, letterRow, queueLetter } from "./letters.ts";
import { endSignIns, record } from "./sessions.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

const ROLE = statement("account_role", "select role from users where id = $1::uuid");
// In one order for everybody: of two operators who leave at once, the second finds herself the last.
const LOCK_OPERATORS = statement(
  "account_lock_operators",
  "select id::text from users where role = 'operator' and enabled order by id for no key update",
);

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
  `with deleted as (delete from clients where owner_id = $1::uuid returning client_id),
   logged as (
     insert into audit_records (event, outcome, reason, actor_type, actor_id, user_id, client_id)
     select 'client.deleted', 'success', 'owner_deleted', 'user', $1::text, $1::text, client_id from deleted)
   select client_id from deleted`,
);
// What others allowed these clients, in statements after the clients' end: what was being born of them is seen there (ManagedClients.delete).
const DROP_CONSENTS = statement("account_clients_drop_consents", "delete from consents where client_id = any($1::text[])");
const DROP_CODES = statement(
  "account_clients_drop_codes",
  "delete from authorization_codes where client_id = any($1::text[]) and grant_id is null",
);
const END_GRANTS = statement("account_clients_end_grants", `with ${endGrants("client_id = any($1::text[])")} select 1 as one from ended`);

// Everything else that is the person's goes by its foreign key. A trigger marks the person for guards (migration 0007).
const DELETE_USER = statement("account_delete_user", "delete from users where id = $1::uuid returning 1 as one");

/** The last letter is worth sending for a day. */
const NEWS = 86_400;

export const accountClosing = (sql: Sql): AccountClosing => ({
  close: async (userId, letter, audit) => {
    if (!isUuid(userId)) return "gone";
    return sql.transaction(async (tx) => {
      const [user] = await tx.query<{ role: string }>(ROLE, [userId]);
      if (user?.role === "operator" && (await isLastOperator(tx, userId))) return "last_operator";
      for (const each of [DROP_RESET, DROP_CREDENTIALS]) await tx.query(each, [userId]);
      await endSignIns(tx, userId);
      await tx.query(LAST_LETTER, [userId, jsonRows([{ ...letterRow(letter), ttl: NEWS }])]);
      const clients = (await tx.query<{ client_id: string }>(DELETE_CLIENTS, [userId])).map(({ client_id }) => client_id);
      if (clients.length > 0) for (const each of [DROP_CONSENTS, DROP_CODES, END_GRANTS]) await tx.query(each, [clients]);
      if ((await tx.query(DELETE_USER, [userId])).length === 0) return "gone";
      await record(tx, audit);
      return "closed";
    });
  },
});

async function isLastOperator(tx: Pick<Sql, "query">, userId: string): Promise<boolean> {
  const operators = await tx.query<{ id: string }>(LOCK_OPERATORS, []);
  return operators.length === 1 && operators[0]?.id === userId.toLowerCase();
}
