import type { User } from "../accounts/ports.ts";
import { Refusal } from "../errors.ts";
import { isUuid } from "../identifier.ts";
import type { ManagedUsers } from "../management/ports.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { open, pageOf } from "./pages.ts";
import { isRemovalPending, removeOfUser } from "./removals.ts";
import { endSignIns } from "./session-revocation.ts";
import { isStorable, jsonRows, type Sql, statement } from "./sql.ts";
import { type UserColumns, userColumns, userOf } from "./user-rows.ts";

const LIST = statement(
  "users_list",
  `select ${userColumns("users")} from users
   where deleted_at is null and ($1::text is null or role = $1::text) and ($2::boolean is null or enabled = $2::boolean)
     and ($3::text is null or strpos(lower(email), lower($3::text)) > 0) and ($4::uuid is null or users.id < $4::uuid)
   order by users.id desc limit $5::int`,
);
const BY_ID = statement("user_admin_by_id", `select ${userColumns("users")} from users where id = $1::uuid and deleted_at is null`);

const given = (parameter: string): string => `changed, (select value as audit from jsonb_array_elements(${parameter}::jsonb)) as given`;

const SET_ENABLED = statement(
  "user_set_enabled",
  `with changed as (update users set enabled = $2::boolean, updated_at = now() where id = $1::uuid and deleted_at is null returning *),
   logged as (${insertAudit(given("$3"))})
   select ${userColumns("changed")} from changed`,
);
const SET_ROLE = statement(
  "user_set_role",
  `with changed as (update users set role = $2, updated_at = now() where id = $1::uuid and deleted_at is null returning *),
   logged as (${insertAudit(given("$3"))})
   select ${userColumns("changed")} from changed`,
);

const only = ([row]: readonly UserColumns[]): User | undefined => (row === undefined ? undefined : userOf(row));

export const managedUsers = (sql: Sql): ManagedUsers => ({
  list: async ({ role, enabled, search }, limit, after) => {
    if (search !== undefined && !isStorable(search)) return { items: [], next: null };
    return pageOf(await sql.query<UserColumns>(LIST, [open(role), open(enabled), open(search), open(after), limit + 1]), limit, userOf);
  },

  byId: async (id) => (isUuid(id) ? only(await sql.query<UserColumns>(BY_ID, [id])) : undefined),

  setEnabled: async (id, enabled, audit) => {
    if (!isUuid(id)) return undefined;
    return sql.transaction(async (tx) => {
      // Access tokens name their grants; until the last of these is revoked, enabling the user would let some of them count again.
      if (enabled && (await isRemovalPending(tx, ["user_disabled"], id)))
        throw new Refusal("temporarily_unavailable", "user_still_being_disabled", { retryAfter: 5 });
      const user = only(await tx.query<UserColumns>(SET_ENABLED, [id, enabled, jsonRows([auditRow(audit)])]));
      if (user !== undefined && !enabled) {
        await endSignIns(tx, id);
        await removeOfUser(tx, "user_disabled", id);
      }
      return user;
    });
  },

  setRole: async (id, role, audit) =>
    isUuid(id) ? only(await sql.query<UserColumns>(SET_ROLE, [id, role, jsonRows([auditRow(audit)])])) : undefined,
});
