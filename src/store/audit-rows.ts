import { randomBytes } from "node:crypto";
import type { AuditEntry } from "../audit.ts";
import { pooled, systemClock } from "../clock.ts";
import { newId } from "../identifier.ts";
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
const random = pooled(randomBytes);

/**
 * A condition that holds until a moment of the database's clock and then refuses the statement that it stands in. The clock is read when
 * the condition is reached, behind all that the statement has waited for.
 * @param notAfter SQL expression, seconds since the epoch; null: no such moment
 */
export const inTime = (notAfter: string): string =>
  `case when to_timestamp(${notAfter}) < clock_timestamp() then refuse_late() else true end`;

/** An entry as the members of audit_records, ready for jsonRows. */
export const auditRow = (entry: AuditEntry): Readonly<Record<keyof typeof TYPES | "not_after", Json>> => ({
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
  not_after: entry.notAfter,
  repeats: entry.repeats,
});

/**
 * An entry of which a statement makes exactly one record, with the record's id: ids from here are in the order of the entries, and cost the
 * database nothing.
 */
export const newAuditRow = (entry: AuditEntry) => ({ id: newId(systemClock, random), ...auditRow(entry) });

/**
 * An insert of audit records, to be put into a writing CTE beside the effect that they tell of: no effect, no record, and the other way
 * round. An entry whose `notAfter` has passed undoes both.
 * @param source a from-item that has a jsonb column `audit` for each record
 */
export const insertAudit = (source: string): string =>
  `insert into audit_records (id, ${columns.join(", ")})
   select coalesce(entry.id, uuid_v7()), ${columns.map((column) => `entry.${column}`).join(", ")} from ${source},
     jsonb_to_record(audit) as entry(id uuid, ${Object.entries({ ...TYPES, not_after: "float8" })
       .map(([column, type]) => `${column} ${type}`)
       .join(", ")})
   where ${inTime("entry.not_after")}`;

/** The entries in a parameter of a statement, as a from-item for insertAudit. @param parameter such as `$2`, a jsonb array of auditRow */
export const entriesIn = (parameter: string): string => `(select value as audit from jsonb_array_elements(${parameter}::jsonb)) as entries`;

const RECORD = statement(
  "audit_record_alone",
  `with given as (select value as audit from jsonb_array_elements($1::jsonb)) ${insertAudit("given")}`,
);

/** One record by itself, beside what the transaction has done in other statements. */
export const record = (tx: Pick<Sql, "query">, audit: AuditEntry): Promise<unknown> => tx.query(RECORD, [jsonRows([auditRow(audit)])]);
