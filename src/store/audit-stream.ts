import { type Sql, statement } from "./sql.ts";

/** Seconds for which a process alone may send. Longer than one batch takes. */
const LEASE = 30;

// Renewed only when half of it has passed, so that an idle stream writes a row four times a minute.
const CLAIM = statement(
  "audit_stream_claim",
  `with claimed as (
     update audit_stream set holder = $1::uuid, leased_until = now() + make_interval(secs => ${LEASE})
     where leased_until < now() or (holder = $1::uuid and leased_until < now() + make_interval(secs => ${LEASE / 2}))
     returning seq)
   select seq::float8 as seq from claimed
   union all
   select seq::float8 from audit_stream where holder = $1::uuid and leased_until >= now() + make_interval(secs => ${LEASE / 2})`,
);

const ADVANCE = statement(
  "audit_stream_advance",
  `update audit_stream set seq = $3::float8::bigint, leased_until = now() + make_interval(secs => ${LEASE})
   where holder = $1::uuid and seq = $2::float8::bigint returning true as advanced`,
);

const RELEASE = statement(
  "audit_stream_release",
  "update audit_stream set leased_until = now() where holder = $1::uuid and leased_until > now()",
);

const WAITING = statement(
  "audit_stream_waiting",
  "select (coalesce((select max(seq) from audit_links), 0) - seq)::float8 as waiting from audit_stream",
);

/** How far the audit trail was handed over. Of all processes the one that holds the lease sends; it ends by the database's clock. */
export const auditStream = (sql: Sql) => ({
  /** @param holder id of this process  @returns the last number that was handed over; undefined while another process sends */
  claim: async (holder: string): Promise<number | undefined> => (await sql.query<{ seq: number }>(CLAIM, [holder]))[0]?.seq,
  /** @returns false when another process took over in the meantime */
  advance: async (holder: string, from: number, to: number): Promise<boolean> =>
    (await sql.query(ADVANCE, [holder, from, to])).length === 1,
  release: (holder: string): Promise<unknown> => sql.query(RELEASE, [holder]),
  /** How many sealed records wait. */
  waiting: async (): Promise<number> => (await sql.query<{ waiting: number }>(WAITING, []))[0]?.waiting ?? 0,
});
