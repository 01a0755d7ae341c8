import { realmUri } from "../audit.ts";
import type { Branding, RealmBrandings } from "../branding/branding.ts";
import type { Realm, Realms } from "../clients/ports.ts";
import type { ManagedRealms, RealmSort } from "../management/ports.ts";
import { isUuid } from "../random.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import { coalesceReads } from "./coalesce.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { jsonRows, type Sql, statements, type Tx } from "./sql.ts";
import { REALMS } from "./tables/accounts.ts";
import type { RowOf } from "./tables/table.ts";

const REALM = ["id", "name", "dynamicRegistrationScopes"] as const;

const SQL = statements("realm", {
  byId: `select ${REALMS.select(REALM)} from realms where id = $1::uuid`,
  default: `select ${REALMS.select(REALM)} from realms where name = 'default'`,
});

export function realms(sql: Tx): Realms {
  const load = coalesceReads(async () => new Map((await sql.query<Realm>(SQL.default, [])).map((realm) => [realm.name, realm])), String);
  return {
    byId: async (id) => (isUuid(id) ? (await sql.query<Realm>(SQL.byId, [id]))[0] : undefined),
    default: async () => {
      const realm = await load("default");
      if (realm === undefined) throw new Error("the realm `default`, which the first migration makes, is missing");
      return realm;
    },
  };
}

const BRANDING_BEFORE = "coalesce(branding, '{}'::jsonb)";
/** Members that are null leave the branding, so that the deployment's apply again. */
const BRANDING_AFTER = `jsonb_strip_nulls(${BRANDING_BEFORE} || $2::jsonb)`;

const MANAGED_SQL = statements("realm", {
  // A value that a realm has already is neither written nor recorded.
  setRegistrationScopes: `with changed as (
     update realms set dynamic_registration_scopes = $2::text[]
     where id = $1::uuid and dynamic_registration_scopes is distinct from $2::text[] returning *),
   logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
   select ${REALMS.select(["id", "name"])}, $2::text[] as "dynamicRegistrationScopes" from realms where id = $1::uuid`,
  setRequiredAcr: `with changed as (update realms set required_acr = $2::text where id = $1::uuid and required_acr is distinct from $2::text returning *),
   logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
   select ${REALMS.select(["id"])}, $2::text as "requiredAcr" from realms where id = $1::uuid`,
  setBranding: `with changed as (
     update realms set branding = ${BRANDING_AFTER} where id = $1::uuid and ${BRANDING_AFTER} <> ${BRANDING_BEFORE} returning *),
   logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
   select branding from changed`,
  one: `select ${REALMS.select([...REALM, "requiredAcr"])}, coalesce(branding, '{}'::jsonb) as branding from realms where id = $1::uuid`,
  create: `with created as (insert into realms (name) values ($1) on conflict (name) do nothing returning *),
   logged as (${insertAudit(
     `(select value || jsonb_build_object('resources', jsonb_build_array('${realmUri("")}' || created.id)) as audit
       from created, jsonb_array_elements($2::jsonb)) as entries`,
   )})
   select ${REALMS.select(REALM, "created")} from created`,
  brandings: `select id::text as id, name = 'default' as "isDefault", branding from realms where branding is not null or name = 'default'`,
});

export const realmBrandings =
  (sql: Tx): RealmBrandings =>
  async () => {
    const rows = await sql.query<{ id: string; isDefault: boolean; branding: Branding | null }>(MANAGED_SQL.brandings, []);
    return {
      byRealm: new Map(rows.map(({ id, branding }) => [id, branding ?? {}])),
      defaultRealm: rows.find(({ isDefault }) => isDefault)?.id,
    };
  };

const LIST: ListDescription<RealmSort> = {
  table: REALMS,
  select: REALMS.select(REALM),
  search: ["name"],
  sorts: { created: { by: null, order: "asc" }, name: { by: "lower(left(realms.name, 100))", type: "text", order: "asc" } },
};

export const managedRealms = (sql: Sql): ManagedRealms => ({
  list: (filter, part) => listPage<Realm, RealmSort>(sql, LIST, filter, part),

  one: async (id) =>
    isUuid(id)
      ? (await sql.query<Realm & Pick<RowOf<typeof REALMS>, "requiredAcr"> & { branding: Branding }>(MANAGED_SQL.one, [id]))[0]
      : undefined,

  create: async (name, audit) => (await sql.query<Realm>(MANAGED_SQL.create, [name, jsonRows([audit])]))[0],

  setRegistrationScopes: async (id, scopes, audit) =>
    isUuid(id) ? (await sql.query<Realm>(MANAGED_SQL.setRegistrationScopes, [id, scopes, jsonRows([audit])]))[0] : undefined,

  setRequiredAcr: async (id, acr, audit) =>
    isUuid(id)
      ? (await sql.query<Pick<RowOf<typeof REALMS>, "id" | "requiredAcr">>(MANAGED_SQL.setRequiredAcr, [id, acr, jsonRows([audit])]))[0]
      : undefined,

  setBranding: async (id, branding, audit) => {
    if (!isUuid(id)) return undefined;
    const [row] = await sql.query<{ branding: Branding }>(MANAGED_SQL.setBranding, [id, JSON.stringify(branding), jsonRows([audit])]);
    return (row ?? (await sql.query<{ branding: Branding }>(MANAGED_SQL.one, [id]))[0])?.branding;
  },
});
