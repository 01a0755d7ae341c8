import type { Realm, Realms } from "../clients/ports.ts";
import type { ManagedRealms } from "../management/ports.ts";
import { isUuid } from "../random.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import { coalesceReads } from "./coalesce.ts";
import { listRows } from "./list-query.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";
import { REALMS } from "./tables/accounts.ts";

const REALM = ["id", "name", "dynamicRegistrationScopes"] as const;
const BY_ID = statement("realm_by_id", `select ${REALMS.select(REALM)} from realms where id = $1::uuid`);
const DEFAULT = statement("realm_default", `select ${REALMS.select(REALM)} from realms where name = 'default'`);

export function realms(sql: Pick<Sql, "query">): Realms {
  const load = coalesceReads(async () => new Map((await sql.query<Realm>(DEFAULT, [])).map((realm) => [realm.name, realm])), String);
  return {
    byId: async (id) => (isUuid(id) ? (await sql.query<Realm>(BY_ID, [id]))[0] : undefined),
    default: async () => {
      const realm = await load("default");
      if (realm === undefined) throw new Error("the realm `default`, which the first migration makes, is missing");
      return realm;
    },
  };
}

const SET_SCOPES = statement(
  "realm_set_registration_scopes",
  `with changed as (update realms set dynamic_registration_scopes = $2::text[] where id = $1::uuid returning *),
   logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
   select ${REALMS.select(REALM, "changed")} from changed`,
);

export const managedRealms = (sql: Sql): ManagedRealms => ({
  all: () => listRows<Realm>(sql, REALMS, { select: REALMS.select(REALM), where: {}, order: { id: "asc" } }),

  setRegistrationScopes: async (id, scopes, audit) =>
    isUuid(id) ? (await sql.query<Realm>(SET_SCOPES, [id, scopes, jsonRows([audit])]))[0] : undefined,
});
