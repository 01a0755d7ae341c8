import { randomBytes } from "node:crypto";
import { type AuditEntry, realmUri } from "../audit.ts";
import { type Branding, brandingOver, type RealmBrandings } from "../branding/branding.ts";
import type { Realm, Realms } from "../clients/ports.ts";
import { systemClock } from "../clock.ts";
import { isRefusal } from "../errors.ts";
import type { ManagedRealm, ManagedRealms, RealmChange, RealmContents, RealmSort } from "../management/ports.ts";
import { merged } from "../merged.ts";
import { TOTAL_LIMIT } from "../paging.ts";
import { newId } from "../random.ts";
import { auditEach } from "./audit-log.ts";
import { isUniqueViolation } from "./availability.ts";
import { coalesceReads } from "./coalesce.ts";
import { WAITING } from "./invitations.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { managedRecords } from "./managed-records.ts";
import { firstRow, jsonRows, rowsOf, type Sql, statement, statements, type Tx } from "./sql.ts";
import { REALMS } from "./tables/accounts.ts";
import type { RowOf } from "./tables/table.ts";

const REALM = ["id", "name", "dynamicRegistrationScopes"] as const;
const DEFAULT = "default";

const counted = (kind: keyof RealmContents | "lacking", rows: string): string =>
  `(select count(*)::int from (select from ${rows} limit ${TOTAL_LIMIT + 1}) as counted) as "${kind}"`;

/** Realms of a name in whatever case. Earlier releases made some that differ in case alone; they stay. @param name an expression */
const alike = (name: string): string =>
  `realms as other where lower("left"(other.name, 100)) = lower("left"(${name}, 100)) and lower(other.name) = lower(${name})`;

const SQL = statements("realm", {
  byId: `select ${REALMS.select(REALM)} from realms where id = $1::uuid`,
  default: `select ${REALMS.select(REALM)} from realms where name = 'default'`,
  named: "select id::text as id, name from realms where name = any($1::text[])",
  rename: `with changed as (
     update realms set name = $2 where id = $1::uuid and not exists (select 1 from ${alike("$2")} and other.id <> $1::uuid) returning *),
   logged as (${auditEach("changed", "$3")})
   select ${REALMS.select(REALM, "changed")} from changed`,
  // Names that differ in case alone have no unique index. Provisioning takes this lock too.
  holdNames: "select pg_advisory_xact_lock(7226471) is null as locked",
  // Whatever refers to the realm waits for the lock: it is counted here, or finds no realm. Invitations are removed with it.
  hold: "select name from realms where id = $1::uuid for update",
  lacking: `select ${counted(
    "lacking",
    `users where realm_id = $1::uuid and enabled and deleted_at is null
       and not exists (select 1 from passkeys where user_id = users.id and copied_at is null)
       and ($2 = 'phr' or not exists (select 1 from authenticator_apps where user_id = users.id and confirmed_at is not null))`,
  )}`,
  alike: `select 1 as one from ${alike("$1")}`,
  contents: `select ${counted("users", "users where realm_id = $1::uuid and deleted_at is null")},
     ${counted("leaving", "users where realm_id = $1::uuid and deleted_at is not null")},
     ${counted("connections", "connections where realm_id = $1::uuid")},
     ${counted("invitations", `invitations where realm_id = $1::uuid and ${WAITING}`)},
     ${counted("clients", "clients where realm_id = $1::uuid")}`,
});

export function realms(sql: Tx): Realms {
  const load = coalesceReads(async () => new Map((await sql.query<Realm>(SQL.default, [])).map((realm) => [realm.name, realm])), String);
  return {
    byId: (id) => firstRow<Realm>(sql, SQL.byId, [id]),
    default: async () => {
      const realm = await load("default");
      if (realm === undefined) throw new Error("the realm `default`, which the first migration makes, is missing");
      return realm;
    },
  };
}

const SETTINGS = ["dynamicRegistrationScopes", "requiredAcr", "branding"] as const;
const records = managedRecords("realm", REALMS, {
  key: ["id"],
  added: ["id", "name", ...SETTINGS],
  changed: SETTINGS,
  named: ({ id }) => ({ resources: [realmUri(id)] }),
  joined: `where not exists (select 1 from ${alike("input.name")})`,
});

type Settings = Pick<RowOf<typeof REALMS>, (typeof SETTINGS)[number]>;

/** Members of a branding that are null leave it, so that the deployment's apply again. A realm that has none gets no empty one. */
function changed(realm: Settings, { branding, ...change }: RealmChange): Settings {
  const own = branding && brandingOver({ ...realm.branding, ...branding }, {});
  const isNone = realm.branding === null && Object.keys(own ?? {}).length === 0;
  return merged(realm, { ...change, branding: isNone ? undefined : own });
}

const NEW = { dynamicRegistrationScopes: null, requiredAcr: null, branding: null };

/** @returns undefined for a name that is taken, in whatever case */
export const addRealm = (tx: Tx, name: string, settings: RealmChange, audit: AuditEntry) =>
  records.on(tx).add({ id: newId(systemClock, randomBytes), name, ...changed(NEW, settings) }, { ...audit, note: name });

/** Others that make or rename a realm wait until the transaction ends. */
export const holdRealmNames = (tx: Tx) => tx.query(SQL.holdNames, []);

/** Whether a realm has this name, in whatever case. */
export const isRealmName = async (tx: Tx, name: string): Promise<boolean> => (await firstRow(tx, SQL.alike, [name])) !== undefined;

/** @returns the realm before and after, the same object when nothing changes; undefined for an unknown one */
export const changeRealm = (tx: Tx, id: string, change: RealmChange, audit: AuditEntry) =>
  records.on(tx).change({ id }, (realm) => changed(realm, change), audit);

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

const managed = (row: RowOf<typeof REALMS> | undefined): ManagedRealm | undefined => row && { ...row, branding: row.branding ?? {} };

export const managedRealms = (sql: Sql): ManagedRealms => ({
  list: (filter, part) => listPage<Realm, RealmSort>(sql, LIST, filter, part),

  one: async (id) => managed(await records.on(sql).one({ id })),
  create: (name, audit) =>
    sql.transaction(async (tx) => {
      await holdRealmNames(tx);
      return managed(await addRealm(tx, name, {}, audit));
    }),
  change: async (...change) => managed((await sql.transaction((tx) => changeRealm(tx, ...change)))?.after),

  lacking: async (id, acr) => {
    try {
      return (await firstRow<{ lacking: number }>(sql, SQL.lacking, [id, acr]))?.lacking ?? 0;
    } catch (error) {
      if (isRefusal(error)) return null; // it took too long among millions of users
      throw error;
    }
  },

  rename: async (id, name, audit) => {
    const rename = async (tx: Tx) => {
      await holdRealmNames(tx);
      const realm = await firstRow<Pick<Realm, "name">>(tx, SQL.hold, [id]);
      if (realm === undefined || realm.name === name) return firstRow<Realm>(tx, SQL.byId, [id]);
      if (realm.name === DEFAULT) return "default";
      const entry = { ...audit, resources: [realmUri(id.toLowerCase())], note: `${realm.name} → ${name}` };
      return (await firstRow<Realm>(tx, SQL.rename, [id, name, jsonRows([entry])])) ?? "taken";
    };
    return sql.transaction(rename).catch((error: unknown) => {
      if (isUniqueViolation(error)) return "taken" as const; // a process of an earlier release, which takes no lock, has just given it
      throw error;
    });
  },

  remove: (id, audit) =>
    sql.transaction(async (tx) => {
      const realm = await firstRow<Pick<Realm, "name">>(tx, SQL.hold, [id]);
      if (realm === undefined) return undefined;
      if (realm.name === DEFAULT) return "default";
      const contents = await firstRow<RealmContents>(tx, SQL.contents, [id]);
      if (contents !== undefined && Object.values(contents).some((count) => count > 0)) return contents;
      await records.on(tx).remove({ id }, { ...audit, note: realm.name });
      return "removed";
    }),

  named: async (names) => new Map((await rowsOf<Pick<Realm, "id" | "name">>(sql, SQL.named, [names])).map(({ id, name }) => [name, id])),
});
