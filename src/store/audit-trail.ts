import type { AuditActor, AuditEntry } from "../audit.ts";
import type { AuditFilter, AuditRecord, AuditTrail } from "../management/audit-ports.ts";
import { auditChain } from "./audit-chain.ts";
import { hashText } from "./audit-rows.ts";
import { before, listRows, pageOf } from "./list-query.ts";
import { type Sql, statement } from "./sql.ts";
import { AUDIT_RECORDS } from "./tables/records.ts";
import { without } from "./tables/table.ts";

const SELECT = `${AUDIT_RECORDS.select(without(AUDIT_RECORDS.members, ["hash"]))}, ${hashText("hash")} as hash`;

/** Seconds by which the id of a record may be older or newer than its time: one is the application's, the other the transaction's. */
const ID_SLACK = 600;

/** The latest time that a UUIDv7 can hold, in seconds since the epoch. */
const LAST_MOMENT = 281_474_976_710;

/** The least UUIDv7 of a moment: ids begin with their milliseconds. @param moment seconds since the epoch */
const firstId = (moment: number): string =>
  `${Math.round(Math.max(0, Math.min(moment, LAST_MOMENT)) * 1000)
    .toString(16)
    .padStart(12, "0")}${"0".repeat(20)}`;

const timeOf = (moment: number): Date => new Date(moment * 1000);

/** What is asked of times is asked of ids too, which have an index. */
const filtering = ({ since, until, outcome, ...members }: AuditFilter) => ({
  where: {
    ...members,
    ...(outcome !== "failure" && { outcome }),
    $and: [
      ...(since === undefined ? [] : [{ at: { $gte: timeOf(since) }, id: { $gte: firstId(since - ID_SLACK) } }]),
      ...(until === undefined ? [] : [{ at: { $lt: timeOf(until) }, id: { $lt: firstId(until + ID_SLACK) } }]),
    ],
  },
  // Written out, so that the partial indexes on failures serve.
  conditions: outcome === "failure" ? ["outcome = 'failure'"] : [],
});

const HEAD = statement("audit_head", "select coalesce(max(seq), 0)::float8 as seq from audit_records");

interface AuditRow extends Omit<AuditEntry, "actor"> {
  readonly id: string;
  readonly at: number;
  readonly actorType: AuditActor["type"];
  readonly actorId: string;
  readonly seq: number | null;
  readonly hash: string | null;
}

/** A record without the members that the row has no value for. */
function recordOf({ actorType, actorId, seq, hash, ...row }: AuditRow): AuditRecord {
  const members = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as typeof row;
  return { ...members, actor: { type: actorType, id: actorId }, link: seq === null || hash === null ? null : { seq, hash } };
}

export const auditTrail = (sql: Sql): AuditTrail => ({
  list: async (filter, limit, after) => {
    const { where, conditions } = filtering(filter);
    const rows = await listRows<AuditRow>(sql, AUDIT_RECORDS, {
      select: SELECT,
      where: { ...where, id: before(after) },
      conditions,
      order: { id: "desc" },
      limit: limit + 1,
    });
    return pageOf(rows.map(recordOf), limit);
  },
  // Numbers are given under a lock and become visible together with all smaller ones, so that no record appears behind `reached`.
  follow: async (filter, limit, after) => {
    const [head] = await sql.query<{ seq: number }>(HEAD, []);
    const to = head?.seq ?? 0;
    const { where, conditions } = filtering(filter);
    const rows = await listRows<AuditRow>(sql, AUDIT_RECORDS, {
      select: SELECT,
      where: { ...where, seq: { $gt: after, $lte: to } },
      conditions,
      order: { seq: "asc" },
      limit,
    });
    return { items: rows.map(recordOf), reached: rows.length === limit ? (rows.at(-1)?.seq ?? to) : Math.max(after, to) };
  },
  ...auditChain(sql),
});
