import { isIPv6 } from "node:net";
import type { AuditEntry } from "../audit.ts";
import type { AuditLog, RefusedRequest } from "../core/ports.ts";
import { insertAudit, newAuditEntry } from "./audit-rows.ts";
import { coalesceWrites } from "./coalesce.ts";
import { touchClients } from "./grant-rows.ts";
import { isStorable, jsonRows, type Sql, statement } from "./sql.ts";
import { AUDIT_RECORDS } from "./tables/records.ts";

const RECORD = statement(
  "audit_record",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(client_id text, audit jsonb)),
   ${touchClients("input")}
   ${insertAudit("input")}`,
);

/** An IPv6 host can use its whole /64, which counts as one address. */
const network = "coalesce(host(network(set_masklen($3::inet, 64))) || '/64', $2)";

const UNPROVEN = statement(
  "audit_record_unproven",
  `with counted as (
     insert into refused_exchanges as counter (client_id, address, reason, minute)
     select client_id, ${network}, $4, date_trunc('minute', now()) from clients where client_id = $1 and is_agent
     on conflict (client_id, address, reason, minute) do update set requests = counter.requests + 1
     returning requests),
   entries as (select value as audit from jsonb_array_elements($5::jsonb), counted where requests = 1)
   ${insertAudit("entries")}`,
);

const REFUSAL = statement(
  "audit_refusal_of_request",
  `select ${AUDIT_RECORDS.select(["clientId", "grantType", "reason", "rule", "error", "at"])} from audit_records
   where request_id = $1 and outcome = 'failure' and client_id is not null and grant_type is not null and reason is not null
   order by audit_records.id limit 1`,
);

type RefusalRow = Omit<RefusedRequest, "rule" | "error"> & { readonly rule: string | null; readonly error: string | null };

export function auditLog(sql: Sql): AuditLog {
  const record = coalesceWrites(async (entries: readonly { readonly entry: AuditEntry; readonly used: string | undefined }[]) => {
    await sql.query(RECORD, [jsonRows(entries.map(({ entry, used }) => ({ client_id: used, audit: newAuditEntry(entry) })))]);
    return entries.map(() => undefined);
  });
  return {
    record: (entry) => record({ entry, used: undefined }),
    recordIssue: (entry) => record({ entry, used: entry.clientId }),
    recordUnproven: async (entry, address) => {
      const [bare = ""] = address.split("%", 1);
      const { clientId = "", reason = "" } = entry;
      if (!isStorable(clientId)) return;
      const audit = jsonRows([newAuditEntry({ ...entry, ...(bare !== "" && { address: bare }) })]);
      await sql.query(UNPROVEN, [clientId, bare, isIPv6(bare) ? bare : null, reason, audit]);
    },
    refusalOf: async (requestId) => {
      const [row] = isStorable(requestId) ? await sql.query<RefusalRow>(REFUSAL, [requestId]) : [];
      return row && { ...row, rule: row.rule ?? undefined, error: row.error ?? undefined };
    },
  };
}
