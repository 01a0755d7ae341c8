import { randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import type { AuditEntry } from "../audit.ts";
import type { SealedRecord } from "../audit-chain/chain.ts";
import { systemClock } from "../clock.ts";
import type { AuditLog, RefusedRequest } from "../core/ports.ts";
import { newId, pooled } from "../random.ts";
import { coalesceWrites } from "./coalesce.ts";
import { firstRow, isStorable, jsonRows, type Sql, statement, statements, type Tx } from "./sql.ts";
import { AUDIT_RECORDS } from "./tables/records.ts";
import { without } from "./tables/table.ts";

/** The members of an entry; its actor is stored in two columns. */
const MEMBERS = without(AUDIT_RECORDS.members, ["id", "at", "actorType", "actorId"]);
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
 * An insert of audit records, as a CTE beside their effect: both happen, or neither, also when an entry's `notAfter` has passed or its
 * `proof` was used before.
 * @param source a from-item that has a jsonb column `audit`, an AuditEntry, for each record
 */
export const insertAudit = (source: string): string =>
  `insert into audit_records (id, actor_type, actor_id, ${AUDIT_RECORDS.names(MEMBERS)})
   select coalesce(entry.id, uuid_v7()), entry.actor ->> 'type', entry.actor ->> 'id', ${MEMBERS.map((member) => `entry."${member}"`).join(", ")}
   from ${source}, jsonb_to_record(audit) as entry(id uuid, actor jsonb, ${AUDIT_RECORDS.typed(MEMBERS)}, "notAfter" float8, proof jsonb)
   where ${inTime('entry."notAfter"')} and (entry.proof is null or use_proof(entry.proof))`;

/** A from-item for insertAudit. @param parameter such as `$2`, a jsonb array of entries */
export const entriesIn = (parameter: string): string => `(select value as audit from jsonb_array_elements(${parameter}::jsonb)) as entries`;

/**
 * An insertAudit of the entries for each row.
 * @param rows a from-item  @param parameter as for entriesIn  @param about members that the rows add to their entries, as SQL
 */
export function auditEach(rows: string, parameter: string, about: Readonly<Record<string, string>> = {}): string {
  const members = Object.entries(about).map(([member, value]) => `'${member}', ${value}`);
  const audit = members.length === 0 ? "entry.value" : `entry.value || jsonb_build_object(${members.join(", ")})`;
  return insertAudit(`(select ${audit} as audit from ${rows}, jsonb_array_elements(${parameter}::jsonb) as entry) as entries`);
}

const RECORD = statement("audit_record", insertAudit(entriesIn("$1")));

/** Writes records, in the transaction of their effect. */
export const recordAll = (tx: Tx, audits: readonly AuditEntry[]): Promise<unknown> => tx.query(RECORD, [jsonRows(audits)]);
export const record = (tx: Tx, audit: AuditEntry): Promise<unknown> => recordAll(tx, [audit]);

/** SQL for a hash as its text: base64url without padding. */
export const hashText = (column: string): string => `translate(encode(${column}, 'base64'), '+/=', '-_')`;

/**
 * SQL for what `sealedOf` reads: a whole row, whichever release added its columns, and its time in microseconds since the epoch.
 * @param rowText to_json, or to_jsonb, which is slower and sorts the columns
 */
export const sealable = (row: string, rowText: "to_json" | "to_jsonb"): string =>
  `${rowText}(${row}) as record, to_json((extract(epoch from ${row}.at) * 1000000)::bigint) as at`;

/** A record as it is sealed: without what is null, and with a time whose text does not depend on the session's settings. Pure. */
export function sealedOf({ record, at }: { readonly record: SealedRecord; readonly at: number }): SealedRecord {
  const sealed: { [column: string]: SealedRecord[string] } = { at };
  for (const [column, value] of Object.entries(record)) if (column !== "at" && value !== null) sealed[column] = value;
  return sealed;
}

/** An IPv6 host can use its whole /64, which counts as one address. */
const network = "coalesce(host(network(set_masklen($3::inet, 64))) || '/64', $2)";

const SQL = statements("audit", {
  recordUnproven: `with counted as (
     insert into refused_exchanges as counter (client_id, address, reason, minute)
     select client_id, ${network}, $4, date_trunc('minute', now()) from clients where client_id = $1 and is_agent
     on conflict (client_id, address, reason, minute) do update set requests = counter.requests + 1
     returning requests),
   first as (select from counted where requests = 1)
   ${auditEach("first", "$5")}`,
  refusalOfRequest: `select ${AUDIT_RECORDS.select(["clientId", "grantType", "reason", "rule", "error", "at", "workloadIssuer"])} from audit_records
   where request_id = $1 and outcome = 'failure' and client_id is not null and grant_type is not null and reason is not null
   order by audit_records.id limit 1`,
});

const proofOf = ({ proof }: AuditEntry): string => proof?.id ?? "";

/** Proofs are used up in order, so that two processes with the same ones cannot deadlock. */
const byProof = (a: AuditEntry, b: AuditEntry): number => Number(proofOf(a) > proofOf(b)) - Number(proofOf(a) < proofOf(b));

export function auditLog(sql: Sql): AuditLog {
  const write = coalesceWrites(async (entries: readonly AuditEntry[]) => {
    await sql.query(RECORD, [jsonRows(entries.toSorted(byProof))]);
    return Array<void>(entries.length).fill(undefined);
  });
  const record = (entry: AuditEntry) => write(newAuditEntry(entry));
  return {
    record,
    recordIssue: record,
    recordUnproven: async (entry, address) => {
      const [bare = ""] = address.split("%", 1);
      const { clientId = "", reason = "" } = entry;
      if (!isStorable(clientId)) return;
      const audit = jsonRows([newAuditEntry({ ...entry, ...(bare !== "" && { address: bare }) })]);
      await sql.query(SQL.recordUnproven, [clientId, bare, isIPv6(bare) ? bare : null, reason, audit]);
    },
    refusalOf: (requestId) => firstRow<RefusedRequest>(sql, SQL.refusalOfRequest, [requestId]),
  };
}
