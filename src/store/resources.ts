import { isDeepStrictEqual } from "node:util";
import type { AuditEntry } from "../audit.ts";
import { EMPTY_PAGE } from "../paging.ts";
import { isUuid } from "../random.ts";
import type {
  ManagedResources,
  OfferedScopes,
  ResourceDirectory,
  ResourceRegistry,
  ResourceSort,
  ShownRecord,
  ShownResources,
} from "../resources/ports.ts";
import { type ResourceRecord, type ResourceSettings, type ResourceTerms, resourceKey, SETTING_MEMBERS } from "../resources/resource.ts";
import { coalesceReads } from "./coalesce.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { adding, changing, removing } from "./managed-records.ts";
import { isStorable, jsonRows, readRows, rowsStatement, type Sql, statement, type Tx } from "./sql.ts";
import { RESOURCES } from "./tables/clients.ts";
import { without } from "./tables/table.ts";

const TERMS = `${RESOURCES.select(["realmId", "resource", "clients", "accessTokenLifetime", "enabled"])},
  jsonb_path_query_array(resources.scopes, '$[*].name') as "scopeNames",
  (select coalesce(jsonb_object_agg(scope ->> 'name', scope -> 'stepUp'), '{}') from jsonb_array_elements(resources.scopes) as scope
   where scope -> 'stepUp' is not null) as "stepUps"`;

/** SQL for the terms of all realms' records among the resources of an array, as JSON. */
export const termsAmong = (resources: string): string =>
  `(select coalesce(json_agg(terms), '[]') from (
     select ${TERMS} from resources
     where resources.resource = any(array(select regexp_replace(requested, '^(https?://[^/\\\\?#]+)/$', '\\1', 'i') from unnest(${resources}) as requested))) as terms)`;

const OF = rowsStatement("resources_of", `select ${TERMS} from resources where resources.resource = any($1::text[])`);

export function resourceDirectory(sql: Tx): ResourceDirectory {
  const load = coalesceReads(async (keys: readonly string[]) => {
    const found = await readRows<ResourceTerms>(sql, OF, [keys]);
    return Map.groupBy(found, ({ resource }) => resource);
  }, String);
  return {
    of: async (realmId, resources) => {
      const keys = [...new Set(resources.filter(isStorable).map(resourceKey))];
      const found = await Promise.all(keys.map(load));
      return found.flatMap((terms = []) => terms.filter((each) => each.realmId === realmId));
    },
  };
}

const OFFERED = statement(
  "resources_offered",
  `select distinct scope ->> 'name' collate "C" as name from resources, jsonb_array_elements(scopes) as scope
   where realm_id = $1::uuid and enabled and ($2::text is null or $2 = any(clients)) order by name`,
);

export const offeredScopes = (sql: Tx): OfferedScopes => ({
  offered: async (realmId, kind) => (await sql.query<{ name: string }>(OFFERED, [realmId, kind ?? null])).map(({ name }) => name),
});

const SHOWN = statement(
  "resources_shown",
  `select ${RESOURCES.select(["resource", "name", "scopes"])} from resources where realm_id = $1::uuid and resource = any($2::text[])`,
);

export const shownResources = (sql: Tx): ShownResources => ({
  shown: async (realmId, resources) => {
    const asked = [...new Set(resources.filter(isStorable))];
    if (asked.length === 0) return [];
    const found = await sql.query<ShownRecord>(SHOWN, [realmId, asked.map(resourceKey)]);
    return asked.flatMap((resource) =>
      found.filter((each) => each.resource === resourceKey(resource)).map((each) => ({ ...each, resource })),
    );
  },
});

const NEW = without(RESOURCES.members, ["id", "createdAt", "updatedAt"]);
const newRow = RESOURCES.writer(NEW);

const ADD = adding("resource_add", RESOURCES, NEW, "resource, realm_id", "join realms on realms.id = input.realm_id");

/** An audit record that names the resource, and its scopes. */
const entry = (audit: AuditEntry, resource: string, scopes: ResourceRecord["scopes"]): string =>
  jsonRows([{ ...audit, resources: [resource], ...(scopes.length > 0 && { scope: scopes.map(({ name }) => name).join(" ") }) }]);

export const resourceRegistry = (sql: Tx): ResourceRegistry => ({
  add: async (added, audit) => {
    if (!isUuid(added.realmId)) return undefined;
    const resource = resourceKey(added.resource);
    return (await sql.query<ResourceRecord>(ADD, [jsonRows([newRow({ ...added, resource })]), entry(audit, resource, added.scopes)]))[0];
  },
});

const LIST: ListDescription<ResourceSort> = {
  table: RESOURCES,
  select: RESOURCES.select(),
  search: ["resource", "name"],
  sorts: {
    resource: { by: 'resources.resource collate "C"', type: "text", order: "asc" },
    name: { by: "lower(left(resources.name, 100))", type: "text", order: "asc" },
    created: { by: null, order: "desc" },
  },
};
const ONE = statement("resource_one", `select ${RESOURCES.select()} from resources where resource = $1 and realm_id = $2::uuid`);
const LOCK = statement(
  "resource_lock",
  `select ${RESOURCES.select()} from resources where resource = $1 and realm_id = $2::uuid for update`,
);

const CHANGE = changing("resource_change", RESOURCES, SETTING_MEMBERS);
const changedRow = RESOURCES.writer(SETTING_MEMBERS);

const REMOVE = removing("resource_remove", "resources", "resource = $1 and realm_id = $2::uuid", "$3");

export const lockResource = async (tx: Tx, realmId: string, resource: string): Promise<ResourceRecord | undefined> =>
  (await tx.query<ResourceRecord>(LOCK, [resourceKey(resource), realmId]))[0];

/** Stores a change of a locked record. @returns the same object when nothing changes */
export async function storeResource(tx: Tx, before: ResourceRecord, settings: ResourceSettings, audit: AuditEntry) {
  const row = changedRow(settings);
  if (isDeepStrictEqual(row, changedRow(before))) return before;
  return (await tx.query<ResourceRecord>(CHANGE, [before.id, jsonRows([row]), entry(audit, before.resource, settings.scopes)]))[0];
}

export const managedResources = (sql: Sql): ManagedResources => ({
  ...resourceRegistry(sql),
  list: async ({ search, ...where }, part) =>
    isUuid(where.realmId) ? listPage<ResourceRecord, ResourceSort>(sql, LIST, { where, search }, part) : EMPTY_PAGE,
  one: async (realmId, resource) =>
    isUuid(realmId) ? (await sql.query<ResourceRecord>(ONE, [resourceKey(resource), realmId]))[0] : undefined,
  change: async (realmId, resource, decide, audit) => {
    if (!isUuid(realmId)) return undefined;
    return sql.transaction(async (tx) => {
      const record = await lockResource(tx, realmId, resource);
      return record && storeResource(tx, record, decide(record), audit);
    });
  },
  remove: async (realmId, named, audit) => {
    const resource = resourceKey(named);
    return isUuid(realmId) && (await sql.query(REMOVE, [resource, realmId, entry(audit, resource, [])])).length > 0;
  },
});
