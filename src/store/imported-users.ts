import type { AuditEntry } from "../audit.ts";
import type { ImportedUsers } from "../management/ports.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";
import { emailKey } from "./users.ts";

const TAKEN = statement("import_taken", "select email_key from users where email_key = any($1::text[])");

// Two imports of one address at once: the unique key fails the second as a whole.
const IMPORT = statement(
  "import_users",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       id uuid, email text, email_key text, "emailVerified" boolean, "firstName" text, "lastName" text, role text, enabled boolean,
       "passwordHash" text)),
   added as (
     insert into users (id, realm_id, email, email_key, email_verified, first_name, last_name, role, enabled)
     select input.id, realms.id, email, email_key, "emailVerified", "firstName", "lastName", role, enabled
     from input, realms where realms.name = 'default' returning id),
   with_password as (
     insert into credentials (user_id, type, password_hash)
     select added.id, 'password', "passwordHash" from added join input using (id) where "passwordHash" is not null),
   logged as (${insertAudit(entriesIn("$2"))})
   select count(*)::int as added from added`,
);

export const importedUsers = (sql: Sql): ImportedUsers => ({
  import: (users, audits: readonly AuditEntry[], dryRun) =>
    sql.transaction(async (tx) => {
      const keys = users.map(({ email }) => emailKey(email));
      const found = await tx.query<{ email_key: string }>(TAKEN, [keys]);
      const taken = new Set(found.map((row) => row.email_key));
      const indexes = keys.flatMap((key, index) => (taken.has(key) || keys.indexOf(key) < index ? [index] : []));
      if (dryRun || indexes.length > 0) return indexes;
      const rows = users.map((user, index) => ({ ...user, email_key: keys[index] }));
      await tx.query(IMPORT, [jsonRows(rows), jsonRows(audits)]);
      return [];
    }),
});
