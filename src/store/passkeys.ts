import { type FoundPasskey, MAX_PASSKEYS, type NewPasskey, type Passkey, type PasskeyKey, type Passkeys } from "../accounts/factors.ts";
import type { User } from "../accounts/ports.ts";
import { isUuid } from "../random.ts";
import { entriesIn, insertAudit, record } from "./audit-log.ts";
import { holdRemover, holdSession, holdUser } from "./held-sessions.ts";
import { hasWayIn } from "./identity-links.ts";
import { notifyUser } from "./outbox.ts";
import { jsonRows, type Sql, statement, undoable } from "./sql.ts";
import { USERS } from "./tables/accounts.ts";
import { PASSKEYS } from "./tables/sign-in.ts";
import { without } from "./tables/table.ts";
import { USER } from "./users.ts";

const SHOWN = ["id", "name", "createdAt", "lastUsedAt", "backedUp", "copiedAt"] as const;
const OF_USER = statement(
  "passkeys_of_user",
  `select ${PASSKEYS.select(SHOWN)} from passkeys where user_id = $1::uuid order by passkeys.id`,
);
const KEYS_OF = statement(
  "passkey_keys_of_user",
  `select ${PASSKEYS.select(["credentialId", "publicKey", "transports"])} from passkeys where user_id = $1::uuid and copied_at is null`,
);
const BY_CREDENTIAL = statement(
  "passkey_by_credential",
  `select ${PASSKEYS.select(["id", "credentialId", "publicKey", "transports"])},
     (select to_jsonb(found) from (select ${USERS.select(USER)}) as found) as "user"
   from passkeys join users on users.id = passkeys.user_id and users.enabled where credential_id = $1::bytea`,
);

const NEW = without(PASSKEYS.members, ["createdAt", "lastUsedAt", "copiedAt"]);
const newRow = PASSKEYS.writer(NEW);
const ADD = statement(
  "passkey_add",
  `insert into passkeys (${PASSKEYS.names(NEW)})
   select ${PASSKEYS.values(NEW, "i")} from jsonb_to_recordset($1::jsonb) as i(${PASSKEYS.recordset(NEW)})
   where (select count(*) from passkeys where passkeys.user_id = i.user_id) < ${MAX_PASSKEYS}
   on conflict (credential_id) do nothing returning 1 as one`,
);

const RENAME = statement(
  "passkey_rename",
  `with named as (select id, name from passkeys where id = $1::uuid and user_id = $2::uuid for update),
   renamed as (update passkeys set name = $3 from named where passkeys.id = named.id and named.name <> $3 returning passkeys.id),
   logged as (${insertAudit(`renamed, ${entriesIn("$4")}`)})
   select 1 as one from named`,
);

const REMOVE = statement("passkey_remove", "delete from passkeys where id = $1::uuid and user_id = $2::uuid returning 1 as one");

const HAS_WAY_IN = statement("user_has_way_in", `select (${hasWayIn("$1::uuid")}) as found`);

const USE = statement(
  "passkey_use",
  `update passkeys set counter = $2::bigint, backed_up = $3::boolean, last_used_at = now()
   where id = $1::uuid and copied_at is null and (counter < $2::bigint or (counter = 0 and $2::bigint = 0)) returning 1 as one`,
);

const REPORT_COPY = statement(
  "passkey_report_copy",
  "update passkeys set copied_at = now() where id = $1::uuid and copied_at is null returning 1 as one",
);

export const passkeys = (sql: Sql): Passkeys => ({
  ofUser: async (userId) => (isUuid(userId) ? sql.query<Passkey>(OF_USER, [userId]) : []),
  keysOf: async (userId) => (isUuid(userId) ? sql.query<PasskeyKey>(KEYS_OF, [userId]) : []),
  byCredential: async (credentialId) => (await sql.query<FoundPasskey & { readonly user: User }>(BY_CREDENTIAL, [credentialId]))[0],
  add: (passkey: NewPasskey, sessionId, message, audit) =>
    sql.transaction(async (tx) => {
      await holdSession(tx, { id: sessionId, userId: passkey.userId });
      if ((await tx.query(ADD, [jsonRows([newRow(passkey)])])).length === 0) return false;
      await notifyUser(tx, passkey.userId, message);
      await record(tx, audit);
      return true;
    }),
  rename: async (id, userId, name, audit) => isUuid(id) && (await sql.query(RENAME, [id, userId, name, jsonRows([audit])])).length === 1,
  remove: async (id, userId, sessionId, message, audit) => {
    if (!isUuid(id)) return "unknown";
    return undoable(sql, async (tx, undo) => {
      await holdUser(tx, userId);
      const removed = await tx.query(REMOVE, [id, userId]); // before the session, as a sign-in locks them
      await holdRemover(tx, userId, sessionId);
      if (removed.length === 0) return "unknown";
      const [left] = await tx.query<{ found: boolean }>(HAS_WAY_IN, [userId]);
      if (left?.found !== true) return undo("last");
      await notifyUser(tx, userId, message);
      await record(tx, audit);
      return "removed";
    });
  },
  use: async (id, { counter, backedUp }) => (await sql.query(USE, [id, counter, backedUp])).length === 1,
  reportCopy: (id, userId, message, audit) =>
    sql.transaction(async (tx) => {
      if ((await tx.query(REPORT_COPY, [id])).length > 0) await notifyUser(tx, userId, message);
      await record(tx, audit);
    }),
});
