import type { User } from "../accounts/ports.ts";
import { Refusal } from "../errors.ts";
import type { ManagedUsers } from "../management/ports.ts";
import { isUuid } from "../random.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import { before, containing, listRows, pageOf } from "./list-query.ts";
import { isRemovalPending, removeOfUser } from "./removals.ts";
import { endSignIns } from "./session-revocation.ts";
import { isStorable, jsonRows, type Sql, statement } from "./sql.ts";
import { USERS } from "./tables/accounts.ts";
import { USER, userById } from "./users.ts";

const setting = (name: string, assignment: string) =>
  statement(
    name,
    `with changed as (update users set ${assignment}, updated_at = now() where id = $1::uuid and deleted_at is null returning *),
     logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
     select ${USERS.select(USER, "changed")} from changed`,
  );
const SET_ENABLED = setting("user_set_enabled", "enabled = $2::boolean");
const SET_ROLE = setting("user_set_role", "role = $2");

export const managedUsers = (sql: Sql): ManagedUsers => ({
  list: async ({ role, enabled, search }, limit, after) => {
    if (search !== undefined && !isStorable(search)) return { items: [], next: null };
    const users = await listRows<User>(sql, USERS, {
      select: USERS.select(USER),
      where: { deletedAt: null, role, enabled, email: search && containing(search), id: before(after) },
      order: { id: "desc" },
      limit: limit + 1,
    });
    return pageOf(users, limit);
  },

  byId: (id) => userById(sql, id),

  setEnabled: async (id, enabled, audit) => {
    if (!isUuid(id)) return undefined;
    return sql.transaction(async (tx) => {
      // Enabling the user before the last grant is revoked would reactivate access tokens.
      if (enabled && (await isRemovalPending(tx, ["user_disabled"], id)))
        throw new Refusal("temporarily_unavailable", "user_still_being_disabled", { retryAfter: 5 });
      const [user] = await tx.query<User>(SET_ENABLED, [id, enabled, jsonRows([audit])]);
      if (user !== undefined && !enabled) {
        await endSignIns(tx, id);
        await removeOfUser(tx, "user_disabled", id);
      }
      return user;
    });
  },

  setRole: async (id, role, audit) => (isUuid(id) ? (await sql.query<User>(SET_ROLE, [id, role, jsonRows([audit])]))[0] : undefined),
});
