import type { AuditEntry } from "../audit.ts";
import { type Json, jsonRows, type Sql, statement } from "./sql.ts";

const TYPES = {
  event: "text",
  outcome: "text",
  reason: "text",
  actor_type: "text",
  actor_id: "text",
  user_id: "text",
  client_id: "text",
  grant_type: "text",
  scope: "text",
  resources: "text[]",
  jti: "text",
  grant_id: "text",
  act_chain: "text[]",
  address: "text",
  request_id: "text",
  rule: "text",
  error: "text",
  repeats: "int",
} as const;

const columns = Object.keys(TYPES);

/** An entry as the members of audit_records, ready for jsonRows. */
export const auditRow = (entry: AuditEntry): Readonly<Record<keyof typeof TYPES, Json>> => ({
  event: entry.event,
  outcome: entry.outcome,
  reason: entry.reason,
  actor_type: entry.actor.type,
  actor_id: entry.actor.id,
  user_id: entry.userId,
  client_id: entry.clientId,
  grant_type: entry.grantType,
  scope: entry.scope,
  resources: entry.resources,
  jti: entry.jti,
  grant_id: entry.grantId,
  act_chain: entry.actChain,
  address: entry.address,
  request_id: entry.requestId,
  rule: entry.rule,
  error: entry.error,
  repeats: entry.repeats,
});

/**
 * An insert of audit records, to be put into a writing CTE beside the effect that they tell of: no effect, no record, and the other way
 * round.
 * @param source a from-item that has a jsonb column `audit` for each record
 */
export const insertAudit = (source: string): string =>
  `insert into audit_records (${columns.join(", ")})
   select ${columns.map((column) => `entry.${column}`).join(", ")} from ${source},
     jsonb_to_record(audit) as entry(${Object.entries(TYPES)
       .map(([column, type]) => `${column} ${type}`)
       .join(", ")})`;

const RECORD = statement(
  "audit_record_alone",
  `with given as (select value as audit from jsonb_array_elements($1::jsonb)) ${insertAudit("given")}`,
);

/** One record by itself, beside what the transaction has done in other statements. */
export const record = (tx: Pick<Sql, "query">, audit: AuditEntry): Promise<unknown> => tx.query(RECORD, [jsonRows([auditRow(audit)])]);
