import { type FoundPasskey, MAX_PASSKEYS, type NewPasskey, type Passkey, type PasskeyKey, type Passkeys } from "../accounts/factors.ts";
import type { OwnSession, User } from "../accounts/ports.ts";
import { SESSION_ENDED } from "../accounts/sessions.ts";
import { Refusal } from "../errors.ts";
import { isUuid } from "../random.ts";
import { entriesIn, insertAudit, record } from "./audit-log.ts";
import { notifyUser } from "./outbox.ts";
import { jsonRows, type Sql, statement, type Tx, undoable } from "./sql.ts";
import { USERS } from "./tables/accounts.ts";
import { PASSKEYS } from "./tables/factors.ts";
import { without } from "./tables/table.ts";
import { USER } from "./users.ts";
import { hasWayIn } from "./ways-in.ts";

const SHOWN = ["id", "name", "createdAt", "lastUsedAt", "backedUp", "copiedAt"] as const;
const OF_USER = statement(
  "passkeys_of_user",
  `select ${PASSKEYS.select(SHOWN)} from passkeys where user_id = $1::uuid order by passkeys.id`,
);
const KEYS_OF = statement(
  "passkey_keys_of_user",
  `select ${PASSKEYS.select(["credentialId", "publicKey", "transports"])} from passkeys where user_id = $1::uuid`,
);
const BY_CREDENTIAL = statement(
  "passkey_by_credential",
  `select ${PASSKEYS.select(["id", "credentialId", "publicKey", "transports", "backedUp"])},
     (select to_jsonb(found) from (select ${USERS.select(USER)}) as found) as "user"
   from passkeys join users on users.id = passkeys.user_id and users.enabled where credential_id = $1::bytea`,
);

/** Locks the user, so that two changes of their ways to sign in do not cross. */
const HOLD_USER = statement("factor_hold_user", "select enabled from users where id = $1::uuid for no key update");

/** @returns whether the user exists and is enabled */
export const holdUser = async (tx: Tx, userId: string): Promise<boolean> =>
  (await tx.query<{ enabled: boolean }>(HOLD_USER, [userId]))[0]?.enabled === true;

const HOLD_SESSION = statement(
  "factor_hold_session",
  `select 1 as one from sessions join users on users.id = user_id and users.epoch = user_epoch
   where sessions.id = $1::uuid and user_id = $2::uuid and ended_at is null and expires_at > now() for share of sessions`,
);

/**
 * Locks user and session for a change of the ways to sign in. What ends the user's sessions waits for it, and then removes it; or it waits,
 * and the session has ended.
 * @throws {Refusal} login_required when the session has ended
 */
export async function holdSession(tx: Tx, { id, userId }: OwnSession): Promise<void> {
  if ((await holdUser(tx, userId)) && (await tx.query(HOLD_SESSION, [id, userId])).length === 1) return;
  throw new Refusal("login_required", SESSION_ENDED, { description: "The session has ended. Sign in again." });
}

/**
 * Locks the user for a removal, and the session of a user who removes.
 * @param sessionId undefined where an operator removes
 * @throws {Refusal} login_required when the session has ended
 */
export const holdRemover = (tx: Tx, userId: string, sessionId: string | undefined): Promise<unknown> =>
  sessionId === undefined ? holdUser(tx, userId) : holdSession(tx, { id: sessionId, userId });

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
  `update passkeys set counter = $2::bigint, last_used_at = now()
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
  use: async (id, counter) => (await sql.query(USE, [id, counter])).length === 1,
  reportCopy: (id, userId, message, audit) =>
    sql.transaction(async (tx) => {
      if ((await tx.query(REPORT_COPY, [id])).length > 0) await notifyUser(tx, userId, message);
      await record(tx, audit);
    }),
});
