import type { AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { ImportedUsers } from "../management/ports.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";
import { emailKey } from "./users.ts";

// Tokens of a user who was deleted live on for a while, and those of a client have its client_id for `sub`: no imported user gets either.
const TAKEN = statement(
  "import_taken",
  `select email_key as key from users where email_key = any($1::text[])
   union all select id::text from users where id = any($2::uuid[])
   union all select key from revocation_events where kind = 'user' and key = any($2::text[])
   union all select client_id from clients where client_id = any($2::text[])`,
);

const IMPORT = statement(
  "import_users",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       id uuid, email text, email_key text, "emailVerified" boolean, "firstName" text, "lastName" text, role text, enabled boolean,
       "passwordHash" text)),
   added as (
     insert into users (id, realm_id, email, email_key, email_verified, first_name, last_name, role, enabled)
     select input.id, realms.id, email, email_key, "emailVerified", "firstName", "lastName", role, enabled
     from input, realms where realms.name = 'default'
     on conflict do nothing returning id),
   with_password as (
     insert into credentials (user_id, type, password_hash)
     select added.id, 'password', "passwordHash" from added join input using (id) where "passwordHash" is not null),
   logged as (${insertAudit(entriesIn("$2"))})
   select count(*)::int as added from added`,
);

export const importedUsers = (sql: Sql): ImportedUsers => ({
  import: (users, audits: readonly AuditEntry[], dryRun) =>
    sql.transaction(async (tx) => {
      const [keys, ids] = [users.map(({ email }) => emailKey(email)), users.map(({ id }) => id)];
      const found = new Set((await tx.query<{ key: string }>(TAKEN, [keys, ids])).map(({ key }) => key));
      const takenIn = (values: readonly string[], member: "email" | "id") => {
        const seen = new Set(found);
        return values.flatMap((value, index) => (seen.size === seen.add(value).size ? [{ index, member }] : []));
      };
      const taken = [...takenIn(keys, "email"), ...takenIn(ids, "id")];
      if (dryRun || taken.length > 0) return taken;
      const rows = users.map((user, index) => ({ ...user, email_key: keys[index] }));
      const [done] = await tx.query<{ added: number }>(IMPORT, [jsonRows(rows), jsonRows(audits)]);
      if (done?.added !== users.length) throw new Refusal("temporarily_unavailable", "account_just_opened", { retryAfter: 1 });
      return [];
    }),
});
