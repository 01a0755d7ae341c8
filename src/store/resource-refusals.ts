import type { ResourceRefusals } from "../management/report-ports.ts";
import { EMPTY_PAGE, TOTAL_LIMIT } from "../paging.ts";
import { isUuid } from "../random.ts";
import { resourceKey } from "../resources/resource.ts";
import { AUDIT_RECORD, type AuditRow, recordOf } from "./audit-trail.ts";
import { pageByAge } from "./list-query.ts";
import { isStorable, rowsOf, statement, statements, type Tx } from "./sql.ts";

// A resource is named as its record is, in the realm of the client.
const COUNT = statement(
  "resource_refusals_count",
  `insert into resource_refusals (realm_id, resource, record_id, at)
   select distinct resources.realm_id, resources.resource, r.id, r.at
   from audit_records as r cross join lateral unnest(r.resources) as named
     join resources on resources.resource = regexp_replace(named, '^(https?://[^/\\\\?#]+)/$', '\\1', 'i')
     left join clients on clients.client_id = r.client_id
   where r.id = any($1::uuid[])
     and resources.realm_id = coalesce(clients.realm_id, (select realms.id from realms where realms.name = 'default'))
   on conflict do nothing`,
);

/** A sealed record, as far as it is counted. */
export type SealedRefusal = { readonly id: string; readonly event: unknown; readonly resources: unknown };

/** Notes refusals under the resources that they named, in the transaction that seals them. Without such there is no statement. */
export async function countResourceRefusals(tx: Tx, records: readonly SealedRefusal[]): Promise<void> {
  const ids = records.filter(({ event, resources }) => event === "token.refused" && Array.isArray(resources)).map(({ id }) => id);
  if (ids.length > 0) await tx.query(COUNT, [ids]);
}

const OF = "resource_refusals.realm_id = $1::uuid and resource_refusals.resource = $2";

const SQL = statements("resource_refusals", {
  list: `select ${AUDIT_RECORD} from resource_refusals join audit_records on audit_records.id = resource_refusals.record_id
   where ${OF} and ($3::uuid is null or resource_refusals.record_id < $3::uuid)
   order by resource_refusals.record_id desc limit $4::int`,
  total: `select count(*)::int as total from (
     select from resource_refusals join audit_records on audit_records.id = resource_refusals.record_id where ${OF} limit ${TOTAL_LIMIT + 1}) as counted`,
  reasons: `select coalesce(reason, '') as reason, count(*)::int as count from (
     select audit_records.reason from resource_refusals join audit_records on audit_records.id = resource_refusals.record_id
     where ${OF} and resource_refusals.at > now() - interval '24 hours' limit ${TOTAL_LIMIT}) as recent
   group by 1 order by 2 desc, 1`,
});

export const resourceRefusals = (sql: Tx): ResourceRefusals => ({
  list: async (realmId, named, part) => {
    if (!isUuid(realmId) || !isStorable(named)) return EMPTY_PAGE;
    const whose = [realmId, resourceKey(named)];
    const { items, next } = await pageByAge(part, (after, most) => sql.query<AuditRow>(SQL.list, [...whose, after, most]));
    const [counted] = part.count ? await sql.query<{ total: number }>(SQL.total, whose) : [];
    return { items: items.map(recordOf), next, total: counted?.total ?? null };
  },
  reasons: (realmId, named) => rowsOf(sql, SQL.reasons, [realmId, resourceKey(named)]),
});
