import { type FoundPasskey, MAX_PASSKEYS, type NewPasskey, type Passkey, type PasskeyKey, type Passkeys } from "../accounts/factors.ts";
import { auditEach, record } from "./audit-log.ts";
import { holdRemover, holdUser, withSession } from "./held-sessions.ts";
import { hasWayIn } from "./identity-links.ts";
import { notifyUser } from "./outbox.ts";
import { firstRow, hasRow, jsonRows, rowsOf, type Sql, statements, undoable } from "./sql.ts";
import { PASSKEYS } from "./tables/sign-in.ts";
import { without } from "./tables/table.ts";
import { USER_JSON } from "./users.ts";

const SHOWN = ["id", "name", "createdAt", "lastUsedAt", "backedUp", "copiedAt"] as const;
const NEW = without(PASSKEYS.members, ["createdAt", "lastUsedAt", "copiedAt"]);
const newRow = PASSKEYS.writer(NEW);

const SQL = statements("passkey", {
  ofUser: `select ${PASSKEYS.select(SHOWN)} from passkeys where user_id = $1::uuid order by passkeys.id`,
  keysOfUser: `select ${PASSKEYS.select(["credentialId", "publicKey", "transports"])} from passkeys where user_id = $1::uuid and copied_at is null`,
  byCredential: `select ${PASSKEYS.select(["id", "credentialId", "publicKey", "transports"])}, ${USER_JSON}
   from passkeys join users on users.id = passkeys.user_id and users.enabled where credential_id = $1::bytea`,
  add: `insert into passkeys (${PASSKEYS.names(NEW)})
   select ${PASSKEYS.values(NEW, "i")} from jsonb_to_recordset($1::jsonb) as i(${PASSKEYS.recordset(NEW)})
   where (select count(*) from passkeys where passkeys.user_id = i.user_id) < ${MAX_PASSKEYS}
   on conflict (credential_id) do nothing returning 1 as one`,
  rename: `with named as (select id, name from passkeys where id = $1::uuid and user_id = $2::uuid for update),
   renamed as (update passkeys set name = $3 from named where passkeys.id = named.id and named.name <> $3 returning passkeys.id),
   logged as (${auditEach("renamed", "$4")})
   select 1 as one from named`,
  hasWayIn: `select (${hasWayIn("$1::uuid")}) as found`,
  remove: "delete from passkeys where id = $1::uuid and user_id = $2::uuid returning 1 as one",
  use: `update passkeys set counter = $2::bigint, backed_up = $3::boolean, last_used_at = now()
   where id = $1::uuid and copied_at is null and (counter < $2::bigint or (counter = 0 and $2::bigint = 0)) returning 1 as one`,
  reportCopy: "update passkeys set copied_at = now() where id = $1::uuid and copied_at is null returning 1 as one",
});

export const passkeys = (sql: Sql): Passkeys => ({
  ofUser: (userId) => rowsOf<Passkey>(sql, SQL.ofUser, [userId]),
  keysOf: (userId) => rowsOf<PasskeyKey>(sql, SQL.keysOfUser, [userId]),
  byCredential: (credentialId) => firstRow<FoundPasskey>(sql, SQL.byCredential, [credentialId]),
  add: (passkey: NewPasskey, sessionId, message, audit) =>
    withSession(sql, { id: sessionId, userId: passkey.userId }, async (tx) => {
      if (!(await hasRow(tx, SQL.add, [jsonRows([newRow(passkey)])]))) return false;
      await notifyUser(tx, passkey.userId, message);
      await record(tx, audit);
      return true;
    }),
  rename: (id, userId, name, audit) => hasRow(sql, SQL.rename, [id, userId, name, jsonRows([audit])]),
  remove: (id, userId, sessionId, message, audit) =>
    undoable(sql, async (tx, undo) => {
      await holdUser(tx, userId);
      const isRemoved = await hasRow(tx, SQL.remove, [id, userId]); // before the session, as a sign-in locks them
      await holdRemover(tx, userId, sessionId);
      if (!isRemoved) return "unknown";
      const [left] = await tx.query<{ found: boolean }>(SQL.hasWayIn, [userId]);
      if (left?.found !== true) return undo("last");
      await notifyUser(tx, userId, message);
      await record(tx, audit);
      return "removed";
    }),
  use: (id, { counter, backedUp }) => hasRow(sql, SQL.use, [id, counter, backedUp]),
  reportCopy: (id, userId, message, audit) =>
    sql.transaction(async (tx) => {
      if (await hasRow(tx, SQL.reportCopy, [id])) await notifyUser(tx, userId, message);
      await record(tx, audit);
    }),
});
