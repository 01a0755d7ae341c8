import type { NewResource, ResourceDirectory, ResourceRegistry, ShownRecord, ShownResources } from "../resources/ports.ts";
import { type ResourceRecord, type ResourceTerms, resourceKey } from "../resources/resource.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import { coalesceReads } from "./coalesce.ts";
import { isStorable, jsonRows, readRows, rowsStatement, type Sql, statement } from "./sql.ts";
import { RESOURCES } from "./tables/resources.ts";
import { without } from "./tables/table.ts";

const TERMS = `${RESOURCES.select(["realmId", "resource", "clients", "accessTokenLifetime", "enabled"])},
  jsonb_path_query_array(resources.scopes, '$[*].name') as "scopeNames"`;

/** SQL for the terms of all realms' records among the resources of an array, as JSON. */
export const termsAmong = (resources: string): string =>
  `(select coalesce(json_agg(terms), '[]') from (
     select ${TERMS} from resources
     where resources.resource = any(array(select regexp_replace(requested, '^(https?://[^/\\\\?#]+)/$', '\\1', 'i') from unnest(${resources}) as requested))) as terms)`;

const OF = rowsStatement("resources_of", `select ${TERMS} from resources where resources.resource = any($1::text[])`);

export function resourceDirectory(sql: Pick<Sql, "query">): ResourceDirectory {
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

const SHOWN = statement(
  "resources_shown",
  `select ${RESOURCES.select(["resource", "name", "scopes"])} from resources where realm_id = $1::uuid and resource = any($2::text[])`,
);

export const shownResources = (sql: Pick<Sql, "query">): ShownResources => ({
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

const ADD = statement(
  "resource_add",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(${RESOURCES.recordset(NEW)})),
   added as (
     insert into resources (${RESOURCES.names(NEW)})
     select ${RESOURCES.values(NEW, "input")} from input join realms on realms.id = input.realm_id
     on conflict (resource, realm_id) do nothing returning *),
   logged as (${insertAudit(`added, ${entriesIn("$2")}`)})
   select ${RESOURCES.select(RESOURCES.members, "added")} from added`,
);

export const resourceRegistry = (sql: Pick<Sql, "query">): ResourceRegistry => ({
  add: async (resource: NewResource, audit) => {
    const row = newRow({ ...resource, resource: resourceKey(resource.resource), scopes: resource.scopes });
    const [added] = await sql.query<ResourceRecord>(ADD, [jsonRows([row]), jsonRows([{ ...audit, resources: [resource.resource] }])]);
    return added;
  },
});
