import type { AuditEntry } from "../audit.ts";
import type { SignedCheckpoint } from "../audit-chain/checkpoint.ts";
import { GENESIS, type Link, type SealedRecord } from "../audit-chain/link.ts";
import type { AuditChainState, AuditFilter, AuditRecord, AuditTrail } from "../management/ports.ts";
import { hashText, sealedRecord } from "./audit-log.ts";
import { before, listRows, pageOf } from "./list-query.ts";
import { type Sql, seconds, statement } from "./sql.ts";
import { AUDIT_RECORDS } from "./tables/records.ts";
import { type RowOf, without } from "./tables/table.ts";

const SELECT = `${AUDIT_RECORDS.select(without(AUDIT_RECORDS.members, ["hash"]))}, ${hashText("hash")} as hash`;

/** Seconds by which a record's id, from the application's clock, may differ from its time, the transaction's. */
const ID_SLACK = 600;

/** The latest time that a UUIDv7 can hold, in seconds since the epoch. */
const LAST_MOMENT = 281_474_976_710;

/** The least UUIDv7 of a moment: ids begin with milliseconds. @param moment seconds since the epoch */
const firstId = (moment: number): string =>
  `${Math.round(Math.max(0, Math.min(moment, LAST_MOMENT)) * 1000)
    .toString(16)
    .padStart(12, "0")}${"0".repeat(20)}`;

const timeOf = (moment: number): Date => new Date(moment * 1000);

/** Conditions on times are repeated for ids, which have an index. */
const filtering = ({ since, until, outcome, ...members }: AuditFilter) => ({
  where: {
    ...members,
    ...(outcome !== "failure" && { outcome }),
    $and: [
      ...(since === undefined ? [] : [{ at: { $gte: timeOf(since) }, id: { $gte: firstId(since - ID_SLACK) } }]),
      ...(until === undefined ? [] : [{ at: { $lt: timeOf(until) }, id: { $lt: firstId(until + ID_SLACK) } }]),
    ],
  },
  // Written out, so that the partial indexes on failures are used.
  conditions: outcome === "failure" ? ["outcome = 'failure'"] : [],
});

const HEAD = statement("audit_head", "select coalesce(max(seq), 0)::float8 as seq from audit_records");

type AuditRow = Omit<AuditEntry, "actor"> &
  Pick<RowOf<typeof AUDIT_RECORDS>, "id" | "at" | "actorType" | "actorId" | "seq"> & { readonly hash: string | null };

function recordOf({ actorType, actorId, seq, hash, ...row }: AuditRow): AuditRecord {
  const members = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as typeof row;
  return { ...members, actor: { type: actorType, id: actorId }, link: seq === null || hash === null ? null : { seq, hash } };
}

const STATE = statement(
  "audit_chain_state",
  `select case when head.seq is not null then json_build_object('seq', head.seq, 'hash', ${hashText("head.hash")}) end as head,
     case when signed.seq is not null then json_build_object('seq', signed.seq, 'at', signed.at) end as signed,
     (select count(*) from audit_records where seq is null)::float8 as waiting
   from (select 1) as one
     left join (select seq, hash from audit_records where seq is not null order by seq desc limit 1) as head on true
     left join (select seq, ${seconds("audit_checkpoints.at")} as at from audit_checkpoints order by seq desc limit 1) as signed on true`,
);

const AT = statement(
  "audit_link_at",
  `select seq::float8 as seq, ${hashText("hash")} as hash from audit_records where seq = $1::float8::bigint`,
);

const PART = statement(
  "audit_part",
  `select r.seq::float8 as seq, ${hashText("r.hash")} as hash, ${sealedRecord("r")} as record
   from audit_records as r where r.seq > $1::float8::bigint order by r.seq limit $2::int`,
);

const CHECKPOINTS = statement(
  "audit_part_checkpoints",
  `select seq::float8 as seq, kid, jws from audit_checkpoints
   where audit_checkpoints.seq >= $1::float8::bigint order by audit_checkpoints.seq limit $2::int`,
);

const auditChain = (sql: Sql): Pick<AuditTrail, "chain" | "part"> => ({
  chain: async () => (await sql.query<AuditChainState>(STATE, []))[0] ?? { head: null, waiting: 0, signed: null },
  part: async (limit, after) => {
    const start = after === 0 ? GENESIS : (await sql.query<Link>(AT, [after]))[0];
    // Read before the records, so that each has its record. A page has at most one for each record, and the anchor.
    const checkpoints = await sql.query<SignedCheckpoint>(CHECKPOINTS, [after, limit + 1]);
    const records = await sql.query<Link & { record: SealedRecord }>(PART, [after, limit]);
    // The last page includes checkpoints beyond the chain: one without a record shows that records were removed.
    const to = records.length === limit ? (records.at(-1)?.seq ?? after) : Number.MAX_SAFE_INTEGER;
    return { start, records, checkpoints: checkpoints.filter(({ seq }) => seq <= to) };
  },
});

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
  // Numbers are given under a lock and become visible in order, so that no record appears behind `reached`.
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
