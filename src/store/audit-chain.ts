import type { SignedCheckpoint } from "../audit-chain/checkpoint.ts";
import { GENESIS, type Link, type SealedRecord } from "../audit-chain/link.ts";
import type { AuditTrail } from "../management/audit-ports.ts";
import { hashText, sealedRecord } from "./audit-rows.ts";
import { type Sql, seconds, statement } from "./sql.ts";

const STATE = statement(
  "audit_chain_state",
  `select head.seq::float8 as seq, ${hashText("head.hash")} as hash, signed.seq::float8 as signed, signed.at as "signedAt",
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

interface State {
  readonly seq: number | null;
  readonly hash: string | null;
  readonly signed: number | null;
  readonly signedAt: number | null;
  readonly waiting: number;
}

/** The chain as it is stored, for display and for export. */
export const auditChain = (sql: Sql): Pick<AuditTrail, "chain" | "part"> => ({
  chain: async () => {
    const [row] = await sql.query<State>(STATE, []);
    const { seq = null, hash = null, signed = null, signedAt: at = null, waiting = 0 } = row ?? {};
    return {
      head: seq === null || hash === null ? null : { seq, hash },
      waiting,
      signed: signed === null || at === null ? null : { seq: signed, at },
    };
  },
  part: async (limit, after) => {
    const start = after === 0 ? GENESIS : (await sql.query<Link>(AT, [after]))[0];
    // Read before the records, so that no checkpoint is returned without its record. A page has at most one for each record, and the anchor.
    const checkpoints = await sql.query<SignedCheckpoint>(CHECKPOINTS, [after, limit + 1]);
    const records = await sql.query<Link & { record: SealedRecord }>(PART, [after, limit]);
    // At the end of the chain those beyond it too: a checkpoint without a record shows that records were removed.
    const to = records.length === limit ? (records.at(-1)?.seq ?? after) : Number.MAX_SAFE_INTEGER;
    return { start, records, checkpoints: checkpoints.filter(({ seq }) => seq <= to) };
  },
});
