import { realmUri } from "../audit.ts";
import type { Branding, RealmBrandings } from "../branding/branding.ts";
import type { Realm, Realms } from "../clients/ports.ts";
import type { ManagedRealms, RealmSort } from "../management/ports.ts";
import { isUuid } from "../random.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import { coalesceReads } from "./coalesce.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { jsonRows, type Sql, statement, type Tx } from "./sql.ts";
import { REALMS } from "./tables/accounts.ts";
import type { RowOf } from "./tables/table.ts";

const REALM = ["id", "name", "dynamicRegistrationScopes"] as const;
const BY_ID = statement("realm_by_id", `select ${REALMS.select(REALM)} from realms where id = $1::uuid`);
const DEFAULT = statement("realm_default", `select ${REALMS.select(REALM)} from realms where name = 'default'`);

export function realms(sql: Tx): Realms {
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

// A value that a realm has already is neither written nor recorded.
const SET_SCOPES = statement(
  "realm_set_registration_scopes",
  `with changed as (
     update realms set dynamic_registration_scopes = $2::text[]
     where id = $1::uuid and dynamic_registration_scopes is distinct from $2::text[] returning *),
   logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
   select ${REALMS.select(["id", "name"])}, $2::text[] as "dynamicRegistrationScopes" from realms where id = $1::uuid`,
);

const SET_ACR = statement(
  "realm_set_required_acr",
  `with changed as (update realms set required_acr = $2::text where id = $1::uuid and required_acr is distinct from $2::text returning *),
   logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
   select ${REALMS.select(["id"])}, $2::text as "requiredAcr" from realms where id = $1::uuid`,
);

const BRANDING_BEFORE = "coalesce(branding, '{}'::jsonb)";
/** Members that are null leave the branding, so that the deployment's apply again. */
const BRANDING_AFTER = `jsonb_strip_nulls(${BRANDING_BEFORE} || $2::jsonb)`;
const SET_BRANDING = statement(
  "realm_set_branding",
  `with changed as (
     update realms set branding = ${BRANDING_AFTER} where id = $1::uuid and ${BRANDING_AFTER} <> ${BRANDING_BEFORE} returning *),
   logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
   select branding from changed`,
);

const ONE = statement(
  "realm_one",
  `select ${REALMS.select([...REALM, "requiredAcr"])}, coalesce(branding, '{}'::jsonb) as branding from realms where id = $1::uuid`,
);

const CREATE = statement(
  "realm_create",
  `with created as (insert into realms (name) values ($1) on conflict (name) do nothing returning *),
   logged as (${insertAudit(
     `(select value || jsonb_build_object('resources', jsonb_build_array('${realmUri("")}' || created.id)) as audit
       from created, jsonb_array_elements($2::jsonb)) as entries`,
   )})
   select ${REALMS.select(REALM, "created")} from created`,
);

const BRANDINGS = statement(
  "realm_brandings",
  `select id::text as id, name = 'default' as "isDefault", branding from realms where branding is not null or name = 'default'`,
);

export const realmBrandings =
  (sql: Tx): RealmBrandings =>
  async () => {
    const rows = await sql.query<{ id: string; isDefault: boolean; branding: Branding | null }>(BRANDINGS, []);
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
    isUuid(id) ? (await sql.query<Realm & Pick<RowOf<typeof REALMS>, "requiredAcr"> & { branding: Branding }>(ONE, [id]))[0] : undefined,

  create: async (name, audit) => (await sql.query<Realm>(CREATE, [name, jsonRows([audit])]))[0],

  setRegistrationScopes: async (id, scopes, audit) =>
    isUuid(id) ? (await sql.query<Realm>(SET_SCOPES, [id, scopes, jsonRows([audit])]))[0] : undefined,

  setRequiredAcr: async (id, acr, audit) =>
    isUuid(id) ? (await sql.query<Pick<RowOf<typeof REALMS>, "id" | "requiredAcr">>(SET_ACR, [id, acr, jsonRows([audit])]))[0] : undefined,

  setBranding: async (id, branding, audit) => {
    if (!isUuid(id)) return undefined;
    const [row] = await sql.query<{ branding: Branding }>(SET_BRANDING, [id, JSON.stringify(branding), jsonRows([audit])]);
    return (row ?? (await sql.query<{ branding: Branding }>(ONE, [id]))[0])?.branding;
  },
});
