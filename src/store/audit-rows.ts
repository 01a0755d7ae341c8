import { randomBytes } from "node:crypto";
import type { AuditEntry } from "../audit.ts";
import { pooled, systemClock } from "../clock.ts";
import { newId } from "../identifier.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";
import { AUDIT_RECORDS } from "./tables/records.ts";
import { without } from "./tables/table.ts";

/** The members of an entry; its actor is one member, in two columns. */
const MEMBERS = without(AUDIT_RECORDS.members, ["id", "at", "actorType", "actorId", "seq", "hash"]);
const random = pooled(randomBytes);

/**
 * A condition that holds until a moment of the database's clock and then refuses the statement that it stands in. The clock is read when
 * the condition is reached, behind all that the statement has waited for.
 * @param notAfter SQL expression, seconds since the epoch; null: no such moment
 */
export const inTime = (notAfter: string): string =>
  `case when to_timestamp(${notAfter}) < clock_timestamp() then refuse_late() else true end`;

/**
 * An entry of which a statement makes exactly one record, with the record's id: ids made here are in the order of the entries, and cost the
 * database nothing.
 */
export const newAuditEntry = (entry: AuditEntry) => ({ id: newId(systemClock, random), ...entry });

/**
 * An insert of audit records, for a writing CTE beside the effect that they record: both happen, or neither. An entry whose `notAfter` has
 * passed undoes both.
 * @param source a from-item that has a jsonb column `audit` for each record, an AuditEntry as it is
 */
export const insertAudit = (source: string): string =>
  `insert into audit_records (id, actor_type, actor_id, ${AUDIT_RECORDS.names(MEMBERS)})
   select coalesce(entry.id, uuid_v7()), entry.actor ->> 'type', entry.actor ->> 'id', ${MEMBERS.map((member) => `entry."${member}"`).join(", ")}
   from ${source}, jsonb_to_record(audit) as entry(id uuid, actor jsonb, ${AUDIT_RECORDS.typed(MEMBERS)}, "notAfter" float8)
   where ${inTime('entry."notAfter"')}`;

/** The entries in a parameter of a statement, as a from-item for insertAudit. @param parameter such as `$2`, a jsonb array of them */
export const entriesIn = (parameter: string): string => `(select value as audit from jsonb_array_elements(${parameter}::jsonb)) as entries`;

const RECORD = statement(
  "audit_record_alone",
  `with entries as (select value as audit from jsonb_array_elements($1::jsonb)) ${insertAudit("entries")}`,
);

/** Writes one record, in the transaction of the effect that it records. */
export const record = (tx: Pick<Sql, "query">, audit: AuditEntry): Promise<unknown> => tx.query(RECORD, [jsonRows([audit])]);

/** SQL for a hash as its text: base64url without padding. */
export const hashText = (column: string): string => `translate(encode(${column}, 'base64'), '+/=', '-_')`;

/**
 * SQL for what is sealed of a record: all its columns, whichever release added them, except those of the seal and those that are null.
 * `at` is microseconds since the epoch, for the text of a time depends on the session's settings.
 */
export const sealedRecord = (row: string): string =>
  `jsonb_strip_nulls(to_jsonb(${row}) - 'seq' - 'hash' - 'at') || jsonb_build_object('at', (extract(epoch from ${row}.at) * 1000000)::bigint)`;
