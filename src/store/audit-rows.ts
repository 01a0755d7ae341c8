import { randomBytes } from "node:crypto";
import type { AuditEntry } from "../audit.ts";
import { pooled, systemClock } from "../clock.ts";
import { newId } from "../identifier.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";
import { AUDIT_RECORDS } from "./tables/records.ts";
import { without } from "./tables/table.ts";

/** The members of an entry; its actor is stored in two columns. */
const MEMBERS = without(AUDIT_RECORDS.members, ["id", "at", "actorType", "actorId", "seq", "hash"]);
const random = pooled(randomBytes);

/**
 * A condition that refuses the whole statement after a moment of the database's clock, read when the condition is reached: after all waits.
 * @param notAfter SQL expression, seconds since the epoch; null: no deadline
 */
export const inTime = (notAfter: string): string =>
  `case when to_timestamp(${notAfter}) < clock_timestamp() then refuse_late() else true end`;

/** An entry for a statement that writes it once. Ids made here are in the order of the entries, and cost the database nothing. */
export const newAuditEntry = (entry: AuditEntry) => ({ id: newId(systemClock, random), ...entry });

/**
 * An insert of audit records, as a CTE beside their effect: both happen, or neither, also when an entry's `notAfter` has passed.
 * @param source a from-item that has a jsonb column `audit`, an AuditEntry, for each record
 */
export const insertAudit = (source: string): string =>
  `insert into audit_records (id, actor_type, actor_id, ${AUDIT_RECORDS.names(MEMBERS)})
   select coalesce(entry.id, uuid_v7()), entry.actor ->> 'type', entry.actor ->> 'id', ${MEMBERS.map((member) => `entry."${member}"`).join(", ")}
   from ${source}, jsonb_to_record(audit) as entry(id uuid, actor jsonb, ${AUDIT_RECORDS.typed(MEMBERS)}, "notAfter" float8)
   where ${inTime('entry."notAfter"')}`;

/** A from-item for insertAudit. @param parameter such as `$2`, a jsonb array of entries */
export const entriesIn = (parameter: string): string => `(select value as audit from jsonb_array_elements(${parameter}::jsonb)) as entries`;

const RECORD = statement(
  "audit_record_alone",
  `with entries as (select value as audit from jsonb_array_elements($1::jsonb)) ${insertAudit("entries")}`,
);

/** Writes one record, in the transaction of its effect. */
export const record = (tx: Pick<Sql, "query">, audit: AuditEntry): Promise<unknown> => tx.query(RECORD, [jsonRows([audit])]);

/** SQL for a hash as its text: base64url without padding. */
export const hashText = (column: string): string => `translate(encode(${column}, 'base64'), '+/=', '-_')`;

/**
 * SQL for the sealed part of a record: all its columns, whichever release added them, but those of the seal and those that are null.
 * `at` is microseconds since the epoch, for the text of a time depends on the session's settings.
 */
export const sealedRecord = (row: string): string =>
  `jsonb_strip_nulls(to_jsonb(${row}) - 'seq' - 'hash' - 'at') || jsonb_build_object('at', (extract(epoch from ${row}.at) * 1000000)::bigint)`;
