import { isIPv6 } from "node:net";
import type { AuditEntry } from "../audit.ts";
import type { AuditLog } from "../core/ports.ts";
import { insertAudit, newAuditRow } from "./audit-rows.ts";
import { coalesceWrites } from "./coalesce.ts";
import { touchClients } from "./grant-rows.ts";
import { isStorable, jsonRows, preciseSeconds, type Sql, statement } from "./sql.ts";

const RECORD = statement(
  "audit_record",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(client_id text, audit jsonb)),
   ${touchClients("input")}
   ${insertAudit("input")}`,
);

/** An IPv6 host has all of its /64 to itself, so that such addresses are one. */
const network = "coalesce(host(network(set_masklen($3::inet, 64))) || '/64', $2)";

const UNPROVEN = statement(
  "audit_record_unproven",
  `with counted as (
     insert into refused_exchanges as known (client_id, address, reason, minute)
     select client_id, ${network}, $4, date_trunc('minute', now()) from clients where client_id = $1 and is_agent
     on conflict (client_id, address, reason, minute) do update set requests = known.requests + 1
     returning requests),
   given as (select value as audit from jsonb_array_elements($5::jsonb), counted where requests = 1)
   ${insertAudit("given")}`,
);

const REFUSAL = statement(
  "audit_refusal_of_request",
  `select client_id, grant_type, reason, rule, error, ${preciseSeconds("at")} as at from audit_records
   where request_id = $1 and outcome = 'failure' and client_id is not null and grant_type is not null and reason is not null
   order by audit_records.id limit 1`,
);

interface RefusalColumns {
  readonly client_id: string;
  readonly grant_type: string;
  readonly reason: string;
  readonly rule: string | null;
  readonly error: string | null;
  readonly at: number;
}

export function auditLog(sql: Sql): AuditLog {
  const record = coalesceWrites(async (entries: readonly { readonly entry: AuditEntry; readonly used: string | undefined }[]) => {
    await sql.query(RECORD, [jsonRows(entries.map(({ entry, used }) => ({ client_id: used, audit: newAuditRow(entry) })))]);
    return entries.map(() => undefined);
  });
  return {
    record: (entry) => record({ entry, used: undefined }),
    recordIssue: (entry) => record({ entry, used: entry.clientId }),
    recordUnproven: async (entry, address) => {
      const [bare = ""] = address.split("%", 1);
      const { clientId = "", reason = "" } = entry;
      if (!isStorable(clientId)) return;
      const audit = jsonRows([newAuditRow({ ...entry, ...(bare !== "" && { address: bare }) })]);
      await sql.query(UNPROVEN, [clientId, bare, isIPv6(bare) ? bare : null, reason, audit]);
    },
    refusalOf: async (requestId) => {
      const [row] = isStorable(requestId) ? await sql.query<RefusalColumns>(REFUSAL, [requestId]) : [];
      if (row === undefined) return undefined;
      const { client_id: clientId, grant_type: grantType, reason, rule, error, at } = row;
      return { clientId, grantType, reason, rule: rule ?? undefined, error: error ?? undefined, at };
    },
  };
}
