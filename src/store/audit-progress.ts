import { auditTrailUri } from "../audit.ts";
import { auditEach, newAuditEntry } from "./audit-log.ts";
import { firstRow, hasRow, jsonRows, type Sql, statements } from "./sql.ts";

/** The most records of one archive, unless a single checkpoint covers more. */
const ARCHIVE = 20_000;

const RETENTION_SQL = statements("audit_retention", {
  // The first checkpoint decides by its key whether anything is due, so that those of the time that is kept are not read.
  due: `select start.seq::float8 as start, max(signed.seq)::float8 as until
   from audit_start as start join audit_checkpoints as signed on signed.seq > start.seq
     and signed.seq <= greatest(start.seq + $2::int, (select min(seq) from audit_checkpoints where seq > start.seq))
   where signed.at < now() - make_interval(days => $1::int)
     and (not $3::boolean or signed.seq <= (select audit_stream.seq from audit_stream))
   group by start.seq`,
  move: `with moved as (update audit_start set seq = $2::float8::bigint where seq = $1::float8::bigint returning seq),
   logged as (${auditEach("moved", "$3")})
   select 1 as moved from moved`,
});

/** The records after `start`, up to `until`, which a checkpoint signs. */
export interface Due {
  readonly start: number;
  readonly until: number;
}

/** How long audit records are kept. Those before the start of the trail are deleted by the sweep. */
export const auditRetention = (sql: Sql) => ({
  /** @param days for which records are kept  @param streamed whether AUDIT_STREAM must have got them  @returns undefined: nothing is due */
  due: (days: number, streamed: boolean): Promise<Due | undefined> => firstRow<Due>(sql, RETENTION_SQL.due, [days, ARCHIVE, streamed]),
  /** Lets the trail begin at the end of an archive, with its record. @returns false when another process was first */
  begin: async ({ start, until }: Due): Promise<boolean> => {
    const audit = newAuditEntry({
      event: "audit.archived",
      outcome: "success",
      actor: { type: "service", id: "retention" },
      resources: [auditTrailUri(start + 1, until)],
    });
    return hasRow(sql, RETENTION_SQL.move, [start, until, jsonRows([audit])]);
  },
});

/** Seconds for which a process alone may send. Longer than one batch takes. */
const LEASE = 30;

const STREAM_SQL = statements("audit_stream", {
  // Renewed only when half of it has passed, so that an idle stream writes a row four times a minute.
  claim: `with claimed as (
     update audit_stream set holder = $1::uuid, leased_until = now() + make_interval(secs => ${LEASE})
     where leased_until < now() or (holder = $1::uuid and leased_until < now() + make_interval(secs => ${LEASE / 2}))
     returning seq)
   select seq::float8 as seq from claimed
   union all
   select seq::float8 from audit_stream where holder = $1::uuid and leased_until >= now() + make_interval(secs => ${LEASE / 2})`,
  advance: `update audit_stream set seq = $3::float8::bigint, leased_until = now() + make_interval(secs => ${LEASE})
   where holder = $1::uuid and seq = $2::float8::bigint returning true as advanced`,
  release: "update audit_stream set leased_until = now() where holder = $1::uuid and leased_until > now()",
  waiting: "select (coalesce((select max(seq) from audit_links), 0) - seq)::float8 as waiting from audit_stream",
});

/** How far the audit trail was handed over. Of all processes the one that holds the lease sends; it ends by the database's clock. */
export const auditStream = (sql: Sql) => ({
  /** @param holder id of this process  @returns the last number that was handed over; undefined while another process sends */
  claim: async (holder: string): Promise<number | undefined> => (await firstRow<{ seq: number }>(sql, STREAM_SQL.claim, [holder]))?.seq,
  /** @returns false when another process took over in the meantime */
  advance: (holder: string, from: number, to: number): Promise<boolean> => hasRow(sql, STREAM_SQL.advance, [holder, from, to]),
  release: (holder: string): Promise<unknown> => sql.query(STREAM_SQL.release, [holder]),
  /** How many sealed records wait. */
  waiting: async (): Promise<number> => (await firstRow<{ waiting: number }>(sql, STREAM_SQL.waiting, []))?.waiting ?? 0,
});
