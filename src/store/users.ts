import { lastOperator } from "../accounts/account.ts";
import type { Account, Mail, NewVerification, User, Users } from "../accounts/ports.ts";
import { realmUnknown } from "../accounts/registration.ts";
import { type AuditEntry, realmUri } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { ImportedUsers, ManagedUsers, UserSort } from "../management/ports.ts";
import { isUuid } from "../random.ts";
import { isLastOperator } from "./account-closing.ts";
import { auditEach, record, recordAll } from "./audit-log.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { isRemovalPending, removeOfUser } from "./removals.ts";
import { endSignIns } from "./session-revocation.ts";
import { execute, firstRow, hasRow, jsonRows, type Sql, statement, statements, type Tx } from "./sql.ts";
import { USERS } from "./tables/accounts.ts";
import { without } from "./tables/table.ts";

/** The members of an account that leave the store. */
export const USER = without(USERS.members, ["emailKey", "epoch", "deletedAt"]);

/** A User as JSON, of a row of `users`, beside what else is selected. */
export const USER_JSON = `(select row_to_json(found) from (select ${USERS.select(USER)}) as found) as "user"`;

/** SQL for a Subject as JSON, of a row of `users`. */
export const SUBJECT_JSON = `json_build_object('userId', users.id, 'enabled', users.enabled, 'email', users.email, 'emailVerified', users.email_verified,
     'firstName', users.first_name, 'lastName', users.last_name, 'role', users.role)`;

/** Makes addresses comparable: lower case, in one Unicode form. Computed here, because the database's lower() depends on its locale. */
export const emailKey = (email: string): string => email.normalize("NFC").toLowerCase();

const OPENED = without(USERS.members, ["id", "realmId", "createdAt", "updatedAt", "epoch", "deletedAt"]);
const newRow = USERS.writer(["id", "realmId", ...OPENED]);

/** @param userId SQL expression */
export const hasApp = (userId: string): string =>
  `exists (select 1 from authenticator_apps where authenticator_apps.user_id = ${userId} and confirmed_at is not null)`;
/** Of a row of `users`. */
export const HAS_SECOND_FACTOR = `${hasApp("users.id")} as "hasSecondFactor"`;

const SQL = statements("user", {
  open: `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(id uuid, realm_id uuid, ${USERS.recordset(OPENED)}, password_hash text)),
   added as (
     insert into users (id, realm_id, ${USERS.names(OPENED)})
     select coalesce(input.id, uuid_v7()), realms.id, ${USERS.values(OPENED, "input")} from input
       join realms on realms.id = coalesce(realm_id, (select of_all.id from realms as of_all where of_all.name = 'default'))
     on conflict do nothing returning *),
   with_password as (
     insert into credentials (user_id, type, password_hash)
     select added.id, 'password', password_hash from added join input using (email_key) where password_hash is not null)
   select ${USERS.select(USER, "added")} from added`,
  byId: `select ${USERS.select(USER)} from users where id = $1::uuid and deleted_at is null`,
  byEmail: `select ${USER_JSON}, password_hash as "passwordHash", coalesce(generation, 0) as generation,
     ${HAS_SECOND_FACTOR}
   from users left join credentials on credentials.user_id = users.id and credentials.type = 'password' where email_key = $1`,
  issueVerification: `with account as (select id from users where id = $1::uuid and not email_verified and deleted_at is null for no key update),
   unsent as (delete from outbox using account where user_id = account.id and about = 'verification'),
   queued as (
     insert into outbox (recipient, subject, text, html, user_id, about, expires_at)
     select $4, $5, $6, $7, account.id, 'verification', now() + make_interval(secs => $3::int) from account)
   insert into verification_tokens (token_hash, user_id, expires_at) select $2::bytea, id, now() + make_interval(secs => $3::int) from account`,
  // Locks the user before their tokens, as issuing a token does (docs/decisions/0014).
  verifyEmail: `with account as materialized (
     select users.id from verification_tokens join users on users.id = user_id
     where token_hash = $1::bytea and used_at is null and expires_at > now() for no key update of users),
   token as (
     update verification_tokens set used_at = now() from account
     where token_hash = $1::bytea and user_id = account.id and used_at is null and expires_at > now() returning user_id),
   others as (
     update verification_tokens as other set used_at = now() from token
     where other.user_id = token.user_id and other.token_hash <> $1::bytea and other.used_at is null and other.expires_at > now()),
   verified as (
     update users set email_verified = true, updated_at = now() from token where users.id = token.user_id returning users.*),
   logged as (
     insert into audit_records (event, outcome, actor_type, actor_id, user_id, address, request_id)
     select 'user.verified', 'success', 'user', id::text, id::text, $2, $3 from verified)
   select ${USERS.select(USER, "verified")} from verified`,
  verifiedBy: `select ${USERS.select(USER)} from verification_tokens join users on users.id = user_id and users.email_verified
   where token_hash = $1::bytea and used_at is not null and expires_at > now()`,
  replacePassword:
    "update credentials set password_hash = $3, updated_at = now() where user_id = $1::uuid and type = 'password' and password_hash = $2",
  rename: `with changed as (
     update users set first_name = $2, last_name = $3, updated_at = now()
     where id = $1::uuid and deleted_at is null and (first_name, last_name) is distinct from ($2::text, $3::text) returning id),
   logged as (${auditEach("changed", "$4")})
   select 1 as one from changed`,
  realm: "select 1 as one from realms where id = $1::uuid",
  addresses: `select ${USERS.select(["id", "email"])} from users where id = any($1::uuid[]) and deleted_at is null`,
});

type NewAccount = Pick<User, "email"> &
  Partial<Omit<User, "realmId" | "createdAt" | "updatedAt">> & {
    readonly realmId?: string | undefined;
    readonly passwordHash?: string | undefined;
  };

/** The members of an account that may be left out. */
export const NEWCOMER: Pick<User, "emailVerified" | "firstName" | "lastName" | "role"> = {
  emailVerified: false,
  firstName: null,
  lastName: null,
  role: "developer",
};

/** Opens accounts, without a realm in the default one. @returns those whose address and id no other account has, and whose realm exists */
export function openAccounts(tx: Tx, accounts: readonly NewAccount[]): Promise<User[]> {
  const rows = accounts.map(({ passwordHash, ...account }) => ({
    ...newRow({ id: undefined, realmId: undefined, enabled: true, ...NEWCOMER, ...account, emailKey: emailKey(account.email) }),
    password_hash: passwordHash,
  }));
  return tx.query<User>(SQL.open, [jsonRows(rows)]);
}

/** The record of an account that was opened, which names its realm. */
export const openedIn = ({ realmId }: Pick<User, "realmId">, audit: AuditEntry): AuditEntry => ({
  ...audit,
  resources: [...(audit.resources ?? []), realmUri(realmId)],
});

/** For an account that was not opened. @throws {Refusal} invalid_request for an unknown realm */
export async function assertRealm(tx: Tx, realmId: string | undefined): Promise<void> {
  if (realmId !== undefined && !(await hasRow(tx, SQL.realm, [realmId]))) throw realmUnknown();
}

const issueVerification = (tx: Tx, userId: string, { tokenHash, ttl }: NewVerification, { to, subject, text, html }: Mail) =>
  execute(tx, SQL.issueVerification, [userId, tokenHash, ttl, to, subject, text, html]);

const userById = (sql: Tx, id: string): Promise<User | undefined> => firstRow<User>(sql, SQL.byId, [id]);

export const users = (sql: Sql): Users => ({
  register: (user, verification, mail, audit) =>
    sql.transaction(async (tx) => {
      const [opened] = await openAccounts(tx, [user]);
      if (opened === undefined) {
        await assertRealm(tx, user.realmId);
        return undefined;
      }
      await issueVerification(tx, opened.id, verification, mail);
      await record(tx, openedIn(opened, audit));
      return opened;
    }),
  byId: (id) => userById(sql, id),
  byEmail: (email) => firstRow<Account>(sql, SQL.byEmail, [emailKey(email)]),
  issueVerification: async (userId, verification, mail) => {
    if (isUuid(userId)) await issueVerification(sql, userId, verification, mail);
  },
  verifyEmail: (tokenHash, { address = null, requestId = null }) => firstRow<User>(sql, SQL.verifyEmail, [tokenHash, address, requestId]),
  verifiedBy: (tokenHash) => firstRow<User>(sql, SQL.verifiedBy, [tokenHash]),
  replacePasswordHash: async (userId, replaced, passwordHash) => {
    if (isUuid(userId)) await sql.query(SQL.replacePassword, [userId, replaced, passwordHash]);
  },
  rename: async (userId, { firstName, lastName }, audit) => {
    if (isUuid(userId)) await sql.query(SQL.rename, [userId, firstName, lastName, jsonRows([audit])]);
  },
});

/** Changes a user whose value is another one. */
const setting = (name: string, column: "enabled" | "role", value: string) =>
  statement(
    name,
    `with changed as (
       update users set ${column} = ${value}, updated_at = now()
       where id = $1::uuid and deleted_at is null and ${column} <> ${value} returning *),
     logged as (${auditEach("changed", "$3")})
     select ${USERS.select(USER, "changed")} from changed`,
  );
const SET_ENABLED = setting("user_set_enabled", "enabled", "$2::boolean");
const SET_ROLE = setting("user_set_role", "role", "$2");
const SET_REALM = statement(
  "user_set_realm",
  `with changed as (
     update users set realm_id = realms.id, updated_at = now() from realms
     where users.id = $1::uuid and deleted_at is null and realms.id = $2::uuid and realm_id <> realms.id returning users.*),
   logged as (${auditEach("changed", "$3")})
   select ${USERS.select(USER, "changed")} from changed`,
);

/** @throws {Refusal} conflict */
async function assertNotLastOperator(tx: Tx, id: string): Promise<void> {
  if (await isLastOperator(tx, id)) throw lastOperator();
}

const LIST: ListDescription<UserSort> = {
  table: USERS,
  select: USERS.select(USER),
  search: ["email", "firstName", "lastName"],
  sorts: {
    created: { by: "users.created_at", type: "timestamptz", order: "desc" }, // an imported id says nothing about the time
    email: { by: "users.email_key", type: "text", order: "asc" },
  },
};

export const managedUsers = (sql: Sql): ManagedUsers => ({
  list: ({ search, ...where }, part) => listPage(sql, LIST, { where: { ...where, deletedAt: null }, search }, part),

  byId: (id) => userById(sql, id),

  addresses: (ids) => sql.query<Pick<User, "id" | "email">>(SQL.addresses, [ids.filter(isUuid)]),

  setEnabled: (id, enabled, audit) =>
    sql.transaction(async (tx) => {
      if (!enabled) await assertNotLastOperator(tx, id);
      const user = await firstRow<User>(tx, SET_ENABLED, [id, enabled, jsonRows([audit])]);
      // Enabling the user before the last grant is revoked would reactivate access tokens. Looked at with the user locked: another operator may
      // just have disabled them.
      if (enabled && (await isRemovalPending(tx, ["user_disabled"], id)))
        throw new Refusal("temporarily_unavailable", "user_still_being_disabled", { retryAfter: 5 });
      if (user !== undefined && !enabled) {
        await endSignIns(tx, id);
        await removeOfUser(tx, "user_disabled", id);
      }
      return user ?? userById(tx, id);
    }),

  setRole: (id, role, audit) =>
    sql.transaction(async (tx) => {
      if (role !== "operator") await assertNotLastOperator(tx, id);
      return (await firstRow<User>(tx, SET_ROLE, [id, role, jsonRows([audit])])) ?? userById(tx, id);
    }),

  setRealm: async (id, realmId, audit) => {
    const moved = await firstRow<User>(sql, SET_REALM, [id, realmId, jsonRows([{ ...audit, resources: [realmUri(realmId)] }])]);
    if (moved !== undefined) return moved;
    await assertRealm(sql, realmId);
    return userById(sql, id);
  },
});

// Tokens of a user who was deleted live on for a while, and those of a client have its client_id for `sub`: no imported user gets either.
const TAKEN = statement(
  "import_taken",
  `select email_key as key, true as "isAccount" from users where email_key = any($1::text[])
   union all select id::text, deleted_at is null from users where id = any($2::uuid[])
   union all select key, false from revocation_events
     where kind = 'user' and key = any($2::text[]) and not exists (select from users where id::text = key)
   union all select client_id, false from clients where client_id = any($2::text[])`,
);

export const importedUsers = (sql: Sql): ImportedUsers => ({
  import: (users, audits: readonly AuditEntry[], dryRun) =>
    sql.transaction(async (tx) => {
      const [keys, ids] = [users.map(({ email }) => emailKey(email)), users.map(({ id }) => id)];
      const found = await tx.query<{ key: string; isAccount: boolean }>(TAKEN, [keys, ids]);
      const reserved = new Set(found.flatMap(({ key, isAccount }) => (isAccount ? [] : [key])));
      const takenIn = (values: readonly string[], member: "email" | "id") => {
        const seen = new Set(found.map(({ key }) => key));
        const again = (value: string) => seen.size === seen.add(value).size;
        return values.flatMap((value, index) => (again(value) ? [{ index, member, isReserved: reserved.has(value) }] : []));
      };
      const taken = [...takenIn(keys, "email"), ...takenIn(ids, "id")];
      if (dryRun || taken.length > 0) return taken;
      const opened = await openAccounts(tx, users);
      if (opened.length !== users.length) throw new Refusal("temporarily_unavailable", "account_just_opened", { retryAfter: 1 });
      const byId = new Map(opened.map((user) => [user.id, user]));
      const audited = audits.map((audit) => {
        const user = byId.get(audit.userId ?? "");
        return user === undefined ? audit : openedIn(user, audit);
      });
      await recordAll(tx, audited);
      return [];
    }),
});
