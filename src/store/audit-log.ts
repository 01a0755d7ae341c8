import type { AuditEntry } from "../audit.ts";
import type { AuditLog } from "../core/ports.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { coalesceWrites } from "./coalesce.ts";
import { touchClients } from "./grant-rows.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

const RECORD = statement(
  "audit_record",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(client_id text, audit jsonb)),
   ${touchClients("input")}
   ${insertAudit("input")}`,
);

export function auditLog(sql: Sql): AuditLog {
  const record = coalesceWrites(async (entries: readonly { readonly entry: AuditEntry; readonly used: string | undefined }[]) => {
    await sql.query(RECORD, [jsonRows(entries.map(({ entry, used }) => ({ client_id: used, audit: auditRow(entry) })))]);
    return entries.map(() => undefined);
  });
  return {
    record: (entry) => record({ entry, used: undefined }),
    recordIssue: (entry) => record({ entry, used: entry.clientId }),
  };
}
