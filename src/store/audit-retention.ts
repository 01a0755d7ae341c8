import { auditTrailUri } from "../audit.ts";
import { entriesIn, insertAudit, newAuditEntry } from "./audit-log.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

/** The most records of one archive, unless a single checkpoint covers more. */
const ARCHIVE = 20_000;

// The first checkpoint decides by its key whether anything is due, so that those of the time that is kept are not read.
const DUE = statement(
  "audit_retention_due",
  `select start.seq::float8 as start, max(signed.seq)::float8 as until
   from audit_start as start join audit_checkpoints as signed on signed.seq > start.seq
     and signed.seq <= greatest(start.seq + $2::int, (select min(seq) from audit_checkpoints where seq > start.seq))
   where signed.at < now() - make_interval(days => $1::int)
     and (not $3::boolean or signed.seq <= (select audit_stream.seq from audit_stream))
   group by start.seq`,
);

const MOVE = statement(
  "audit_retention_move",
  `with moved as (update audit_start set seq = $2::float8::bigint where seq = $1::float8::bigint returning seq),
   logged as (${insertAudit(`moved, ${entriesIn("$3")}`)})
   select 1 as moved from moved`,
);

/** The records after `start`, up to `until`, which a checkpoint signs. */
export interface Due {
  readonly start: number;
  readonly until: number;
}

/** How long audit records are kept. Those before the start of the trail are deleted by the sweep. */
export const auditRetention = (sql: Sql) => ({
  /** @param days for which records are kept  @param streamed whether AUDIT_STREAM must have got them  @returns undefined: nothing is due */
  due: async (days: number, streamed: boolean): Promise<Due | undefined> => (await sql.query<Due>(DUE, [days, ARCHIVE, streamed]))[0],
  /** Lets the trail begin at the end of an archive, with its record. @returns false when another process was first */
  begin: async ({ start, until }: Due): Promise<boolean> => {
    const audit = newAuditEntry({
      event: "audit.archived",
      outcome: "success",
      actor: { type: "service", id: "retention" },
      resources: [auditTrailUri(start + 1, until)],
    });
    return (await sql.query(MOVE, [start, until, jsonRows([audit])])).length === 1;
  },
});
