import type { RevocationEvent, RevocationEvents } from "../core/revocation-events.ts";
import { type Sql, seconds, statement } from "./sql.ts";

/** Below this every transaction has ended: what it wrote is visible, or will never be. */
const EDGE = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint";

const READ_EDGE = statement("revocation_events_edge", `select ${EDGE}::text as cursor`);

// Edge and rows are read in one snapshot. A cursor beyond the edge was read in another database, or in this one before it was restored.
const SINCE = statement(
  "revocation_events_since",
  `with edge as materialized (select ${EDGE} as xid, $1::text::bigint as asked),
   start as materialized (select xid, case when asked <= xid then asked end as since from edge)
   select start.xid::text as cursor, start.since is null as whole, coalesce((
     select jsonb_agg(jsonb_build_object(
       'sequence', marks.id::text, 'kind', marks.kind, 'key', marks.key, 'lifted', marks.lifted,
       'revokedAt', ${seconds("marks.revoked_at")}, 'expiresAt', ${seconds("marks.expires_at")}) order by marks.id)
     from revocation_events marks where marks.xid >= coalesce(start.since, 0) and marks.expires_at > now()), '[]') as marks
   from start`,
);

interface Page {
  readonly cursor: string;
  readonly whole: boolean;
  readonly marks: readonly RevocationEvent[];
}

const CURSOR = /^\d{1,18}$/;

export const revocationEvents = (sql: Sql): RevocationEvents => ({
  async edge() {
    const [row] = await sql.query<{ cursor: string }>(READ_EDGE, []);
    if (row === undefined) throw new Error("a snapshot has an edge");
    return row.cursor;
  },
  async since(cursor) {
    const [page] = await sql.query<Page>(SINCE, [cursor !== undefined && CURSOR.test(cursor) ? cursor : null]);
    if (page === undefined) throw new Error("a snapshot has an edge");
    return page;
  },
});
