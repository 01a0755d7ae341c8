import type { AuditEntry } from "../audit.ts";
import { GENESIS, type Link, type SealedRecord, type SignedCheckpoint } from "../audit-chain/chain.ts";
import type { AuditFilter } from "../management/inputs.ts";
import type { AuditChainState, AuditRecord, AuditTrail, LiveRecord } from "../management/report-ports.ts";
import { spellingsOf } from "../protocol/access.ts";
import { hashText, sealable, sealedOf } from "./audit-log.ts";
import { type Fragment, type ListDescription, listPage } from "./list-query.ts";
import { firstRow, type Sql, seconds, statement, statements, type Tx } from "./sql.ts";
import { AUDIT_RECORDS } from "./tables/records.ts";
import type { RowOf } from "./tables/table.ts";

const LINK = `json_build_object('seq', audit_links.seq, 'hash', ${hashText("audit_links.hash")})`;

/** The select list of a record, which `recordOf` reads. */
export const AUDIT_RECORD = `${AUDIT_RECORDS.select()},
  (select ${LINK} from audit_links where audit_links.id = audit_records.id and audit_links.seq is not null) as link`;

/** Seconds by which a record's id, from the application's clock, may differ from its time, the transaction's. */
const ID_SLACK = 600;

/** The latest time that a UUIDv7 can hold, in seconds since the epoch. */
const LAST_MOMENT = 281_474_976_710;

/** The least UUIDv7 of a moment: ids begin with milliseconds. @param moment seconds since the epoch */
export const firstId = (moment: number): string =>
  `${Math.round(Math.max(0, Math.min(moment, LAST_MOMENT)) * 1000)
    .toString(16)
    .padStart(12, "0")}${"0".repeat(20)}`;

const timeOf = (moment: number): Date => new Date(moment * 1000);

const IDENTIFIERS = ["actorId", "userId", "clientId", "grantId", "jti", "requestId"] as const;
const MATCHED = ["event", "outcome", "reason", "userId", "clientId", "grantId", "jti", "requestId"] as const;

/** For lists. Conditions on times are repeated for ids, which have an index. */
const filtering = ({ since, until, outcome, search, actorId, resource, ...members }: AuditFilter) => ({
  where: {
    ...members,
    ...(actorId !== undefined && { actorId: { $in: actorId } }),
    ...(search !== undefined && { $or: IDENTIFIERS.map((member) => ({ [member]: { $in: search } })) }),
    ...(outcome !== "failure" && { outcome }),
    $and: [
      ...(since === undefined ? [] : [{ at: { $gte: timeOf(since) }, id: { $gte: firstId(since - ID_SLACK) } }]),
      ...(until === undefined ? [] : [{ at: { $lt: timeOf(until) }, id: { $lt: firstId(until + ID_SLACK) } }]),
    ],
  },
  // Written out, so that the partial indexes on failures are used.
  conditions: [
    ...(outcome === "failure" ? [["audit_records.outcome = 'failure'", []] satisfies Fragment] : []),
    ...(resource === undefined ? [] : [naming(spellingsOf(resource))]),
  ],
});

/** Records that name one of these resources. Has no index, which would cost every token. */
const naming = (spellings: readonly string[]): Fragment => [
  `(${spellings.map(() => "? = any(audit_records.resources)").join(" or ")})`,
  [...spellings],
];

/** Sealed records, in the order of the chain, and their select list. */
const SEALED = "audit_records join audit_links on audit_links.id = audit_records.id";
const SEALED_RECORD = `${AUDIT_RECORDS.select()}, ${LINK} as link`;

const SQL = statements("audit", {
  // A resource that few records name is looked for in all records of the span.
  patient: "set local statement_timeout = '10s'",
  head: "select coalesce(max(seq), 0)::float8 as seq from audit_links",
  live: `select ${SEALED_RECORD}, (select owner_id::text from clients where clients.client_id = audit_records.client_id) as "ownerId"
   from ${SEALED}
   where seq > coalesce($1::float8::bigint, (select coalesce(max(seq), 0) from audit_links) - $2::int) order by seq limit $2::int`,
});

const columnsOf = (members: readonly (typeof MATCHED | typeof IDENTIFIERS)[number][]): readonly string[] =>
  members.map((member) => `audit_records.${AUDIT_RECORDS.column(member)}`);

// Without a name, so that it is planned for the members that are given: in the order of the chain, or by the index of a rare one.
const FOLLOW = statement(
  "",
  `select ${SEALED_RECORD} from ${SEALED}
   where audit_links.seq > $1::float8::bigint and audit_links.seq <= $2::float8::bigint
     and ($4::float8 is null or at >= to_timestamp($4)) and ($5::float8 is null or at < to_timestamp($5))
     and ($6::text[] is null or $6 && array[${columnsOf(IDENTIFIERS).join(", ")}]::text[])
     and ($7::text[] is null or audit_records.actor_id = any($7))
     and ($8::text[] is null or $8 && audit_records.resources)
     and ${columnsOf(MATCHED)
       .map((column, index) => `($${index + 9}::text is null or ${column} = $${index + 9})`)
       .join(" and ")}
   order by audit_links.seq limit $3::int`,
);

export type AuditRow = Omit<AuditEntry, "actor"> &
  Pick<RowOf<typeof AUDIT_RECORDS>, "id" | "at" | "actorType" | "actorId"> & { readonly link: Link | null };

export function recordOf({ actorType, actorId, link, ...row }: AuditRow): AuditRecord {
  const members = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as typeof row;
  return { ...members, actor: { type: actorType, id: actorId }, link };
}

const CHAIN_SQL = statements("audit", {
  chainState: `select (select audit_start.seq from audit_start)::float8 as start, case when head.seq is not null then json_build_object('seq', head.seq, 'hash', ${hashText("head.hash")}) end as head,
     case when signed.seq is not null then json_build_object('seq', signed.seq, 'at', signed.at) end as signed,
     (select count(*) from audit_links where seq is null)::float8 as waiting
   from (select 1) as one
     left join (select seq, hash from audit_links where seq is not null order by seq desc limit 1) as head on true
     left join (select seq, ${seconds("audit_checkpoints.at")} as at from audit_checkpoints order by seq desc limit 1) as signed on true`,
  linkAt: `select seq::float8 as seq, ${hashText("hash")} as hash from audit_links where seq = $1::float8::bigint`,
  // The columns sorted as in exports of earlier releases, so that an archive made again has the same bytes.
  part: `select audit_links.seq::float8 as seq, ${hashText("audit_links.hash")} as hash, ${sealable("audit_records", "to_jsonb")}
   from ${SEALED} where audit_links.seq > $1::float8::bigint order by audit_links.seq limit $2::int`,
  partCheckpoints: `select seq::float8 as seq, kid, jws from audit_checkpoints
   where audit_checkpoints.seq >= $1::float8::bigint order by audit_checkpoints.seq limit $2::int`,
});

const auditChain = (sql: Sql): Pick<AuditTrail, "chain" | "part"> => ({
  chain: async () => (await firstRow<AuditChainState>(sql, CHAIN_SQL.chainState, [])) ?? { start: 0, head: null, waiting: 0, signed: null },
  part: async (limit, after) => {
    const start = after === 0 ? GENESIS : await firstRow<Link>(sql, CHAIN_SQL.linkAt, [after]);
    // Read before the records, so that each has its record. A page has at most one for each record, and the anchor.
    const checkpoints = await sql.query<SignedCheckpoint>(CHAIN_SQL.partCheckpoints, [after, limit + 1]);
    const rows = await sql.query<Link & { record: SealedRecord; at: number }>(CHAIN_SQL.part, [after, limit]);
    const records = rows.map(({ seq, hash, ...row }) => ({ seq, hash, record: sealedOf(row) }));
    // The last page includes checkpoints beyond the chain: one without a record shows that records were removed.
    const to = records.length === limit ? (records.at(-1)?.seq ?? after) : Number.MAX_SAFE_INTEGER;
    return { start, records, checkpoints: checkpoints.filter(({ seq }) => seq <= to) };
  },
});

const LIST: ListDescription<"created"> = { table: AUDIT_RECORDS, select: AUDIT_RECORD, sorts: { created: { by: null, order: "desc" } } };

export const auditTrail = (sql: Sql): AuditTrail => ({
  list: async (filter, part) => {
    const read = (tx: Tx) => listPage<AuditRow, "created">(tx, LIST, filtering(filter), part);
    const { items, ...page } = await (filter.resource === undefined
      ? read(sql)
      : sql.transaction(async (tx) => {
          await tx.query(SQL.patient, []);
          return read(tx);
        }));
    return { ...page, items: items.map(recordOf) };
  },
  // Numbers are given under a lock and become visible in order, so that no record appears behind `reached`.
  follow: async ({ since, until, search, actorId, resource, ...members }, limit, after) => {
    const [head] = await sql.query<{ seq: number }>(SQL.head, []);
    const to = head?.seq ?? 0;
    const named = resource && spellingsOf(resource);
    const given = [since, until, search, actorId, named, ...MATCHED.map((member) => members[member])].map((value) => value ?? null);
    const rows = await sql.query<AuditRow>(FOLLOW, [after, to, limit, ...given]);
    return { items: rows.map(recordOf), reached: rows.length === limit ? (rows.at(-1)?.link?.seq ?? to) : Math.max(after, to) };
  },
  live: async (after, limit) => {
    const rows = await sql.query<AuditRow & { readonly ownerId: string | null }>(SQL.live, [after ?? null, limit]);
    return rows.map(({ ownerId, ...row }) => ({ ...recordOf(row), ownerId }) as LiveRecord); // sealed, by the condition
  },
  ...auditChain(sql),
});
