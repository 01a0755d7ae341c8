import type { ScopeDescription, ScopeDescriptions } from "../accounts/scope-descriptions.ts";
import type { AuditEntry } from "../audit.ts";
import type { ManagedScopes } from "../management/ports.ts";
import { isUuid } from "../random.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import type { Outcome } from "./provisioned-users.ts";
import { isStorable, jsonRows, type Sql, statement } from "./sql.ts";

const OF = statement(
  "scope_descriptions_of",
  "select name, title, detail from scope_descriptions where realm_id = $1::uuid and name = any ($2::text[])",
);

const ALL = statement(
  "scope_descriptions_all",
  `select name, title, detail from scope_descriptions where realm_id = $1::uuid order by name collate "C"`,
);

// An unchanged description is neither written nor recorded.
const DESCRIBE = statement(
  "scope_describe",
  `with realm as (select id from realms where id = $1::uuid),
     before as (select from scope_descriptions where realm_id = $1::uuid and name = $2),
     written as (
       insert into scope_descriptions (realm_id, name, title, detail) select id, $2, $3::jsonb, $4::jsonb from realm
       on conflict (realm_id, name) do update set title = excluded.title, detail = excluded.detail, updated_at = now()
       where (scope_descriptions.title, scope_descriptions.detail) is distinct from (excluded.title, excluded.detail)
       returning name),
     logged as (${insertAudit(`written, ${entriesIn("$5")}`)})
   select case when not exists (select from written) then 'unchanged' when exists (select from before) then 'changed' else 'created' end as outcome
   from realm`,
);

const REMOVE = statement(
  "scope_description_remove",
  `with removed as (delete from scope_descriptions where realm_id = $1::uuid and name = $2 returning name),
     logged as (${insertAudit(`removed, ${entriesIn("$3")}`)})
   select name from removed`,
);

/** Stores a description, with its record. @returns undefined for an unknown realm */
export async function describeScope(
  tx: Pick<Sql, "query">,
  realmId: string,
  { name, title, detail }: ScopeDescription,
  audit: AuditEntry,
): Promise<Outcome | undefined> {
  const texts = [JSON.stringify(title), JSON.stringify(detail)];
  const [row] = await tx.query<{ outcome: Outcome }>(DESCRIBE, [realmId, name, ...texts, jsonRows([{ ...audit, scope: name }])]);
  return row?.outcome;
}

export const scopeDescriptions = (sql: Sql): ScopeDescriptions => ({
  of: async (realmId, names) => {
    const storable = names.filter(isStorable);
    const rows = isUuid(realmId) && storable.length > 0 ? await sql.query<ScopeDescription>(OF, [realmId, storable]) : [];
    return new Map(rows.map((row) => [row.name, row]));
  },
});

export const managedScopes = (sql: Sql): ManagedScopes => ({
  all: async (realmId) => (isUuid(realmId) ? sql.query<ScopeDescription>(ALL, [realmId]) : []),
  set: async (realmId, scope, audit) => isUuid(realmId) && (await describeScope(sql, realmId, scope, audit)) !== undefined,
  remove: async (realmId, name, audit) => {
    if (!isUuid(realmId)) return false;
    return (await sql.query(REMOVE, [realmId, name, jsonRows([{ ...audit, scope: name }])])).length > 0;
  },
});
