import { realmUri } from "../audit.ts";
import type { ManagedResources, OfferedScopes, ResourceDirectory, ResourceSort, ShownRecord, ShownResources } from "../resources/ports.ts";
import { type ResourceScope, type ResourceTerms, resourceKey, SETTING_MEMBERS } from "../resources/resource.ts";
import { coalesceReads } from "./coalesce.ts";
import { managedRecords } from "./managed-records.ts";
import { isStorable, readRows, rowsStatement, type Sql, statement, type Tx } from "./sql.ts";
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
  `select ${RESOURCES.select(["resource", "name", "scopes"])}
   from resources join realms on realms.id = resources.realm_id
   where resources.resource = any($2::text[]) and (realms.id = $1::uuid or realms.name = 'default')
   order by realms.id = $1::uuid desc`,
);

/** The scopes of one resource in several records. Of those that describe a scope the first counts. Pure. */
function wordedBy(records: readonly Pick<ShownRecord, "scopes">[]): readonly ResourceScope[] {
  const worded = new Map<string, ResourceScope>();
  for (const scope of records.flatMap(({ scopes }) => scopes)) {
    const isDescribed = Object.keys(worded.get(scope.name)?.title ?? {}).length > 0;
    if (!isDescribed) worded.set(scope.name, scope);
  }
  return [...worded.values()];
}

export const shownResources = (sql: Tx): ShownResources => ({
  shown: async (realmId, resources) => {
    const asked = [...new Set(resources.filter(isStorable))];
    if (asked.length === 0) return [];
    const found = await sql.query<ShownRecord>(SHOWN, [realmId, asked.map(resourceKey)]);
    return asked.flatMap((resource) => {
      const records = found.filter((record) => record.resource === resourceKey(resource));
      return records.slice(0, 1).map(({ name }) => ({ resource, name, scopes: wordedBy(records) }));
    });
  },
});

export const resourceRecords = managedRecords("resource", RESOURCES, {
  key: ["resource", "realmId"],
  added: without(RESOURCES.members, ["id", "createdAt", "updatedAt"]),
  changed: SETTING_MEMBERS,
  named: ({ resource, realmId }) => ({ resources: [resource, realmUri(realmId)] }),
  about: ({ scopes }) => (scopes.length > 0 ? { scope: scopes.map(({ name }) => name).join(" ") } : {}),
  spelt: ({ resource, realmId }) => ({ resource: resourceKey(resource), realmId }),
  joined: "join realms on realms.id = input.realm_id",
});

export const managedResources = (sql: Sql): ManagedResources =>
  resourceRecords.managed<ResourceSort>(sql, {
    search: ["resource", "name"],
    sorts: {
      resource: { by: 'resources.resource collate "C"', type: "text", order: "asc" },
      name: { by: "lower(left(resources.name, 100))", type: "text", order: "asc" },
      created: { by: null, order: "desc" },
    },
  });
