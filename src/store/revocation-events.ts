import type { RevocationEvent, RevocationEvents } from "../core/revocation-events.ts";
import { type Sql, seconds, statement } from "./sql.ts";

/** Every transaction below this id has ended: its writes are visible, or never will be. */
const EDGE = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint";

const READ_EDGE = statement("revocation_events_edge", `select ${EDGE}::text as cursor`);

// Edge and rows come from one snapshot. An expired event counts while it is kept: a guard's clock may be behind. A cursor beyond the edge is of
// another database, or of this one before it was restored.
const SINCE = statement(
  "revocation_events_since",
  `with edge as materialized (select ${EDGE} as xid, $1::text::bigint as cursor),
   start as materialized (select xid, case when cursor <= xid then cursor end as since from edge)
   select start.xid::text as cursor, start.since is null as whole, coalesce((
     select jsonb_agg(jsonb_build_object(
       'sequence', events.id::text, 'kind', events.kind, 'key', events.key, 'lifted', events.lifted,
       'revokedAt', ${seconds("events.revoked_at")}, 'expiresAt', ${seconds("events.expires_at")}) order by events.id)
     from revocation_events events where events.xid >= coalesce(start.since, 0)), '[]') as marks
   from start`,
);

type Page = { readonly cursor: string; readonly whole: boolean; readonly marks: readonly RevocationEvent[] };

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
