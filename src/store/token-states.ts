import type { RevocationEvent, RevocationEvents } from "../core/revocation.ts";
import type { TokenReference, TokenState, TokenStates } from "../core/stored-grants.ts";
import { isUuid } from "../random.ts";
import { auditEach } from "./audit-log.ts";
import { coalesceReads } from "./coalesce.ts";
import { cutBy, endedAbove, pausedFor } from "./delegations.ts";
import { isClientEnabled } from "./grant-rows.ts";
import { execute, jsonRows, readRows, rowsStatement, type Sql, seconds, statement } from "./sql.ts";
import { SUBJECT_JSON } from "./users.ts";

// A delegated token depends on its whole path: what is cut, revoked or disabled above it ends it too. `limit 1` makes the planner look up
// each row by key: it takes a batch for a hundred rows, and would join tables of some thousands by reading them whole.
const OF = rowsStatement(
  "token_states",
  `select n, ${seconds("now()")} as now,
     coalesce(revoked.is_revoked, false) or coalesce(delegation.ended, false) or ${pausedFor("grants.client_id", "grants.user_id")} as revoked,
     i.agent is not null and ${pausedFor("i.agent", "i.user_id")} as "agentPaused",
     grants.id is not null and grants.revoked_at is null as "grantLives",
     (i.delegation_id is null or coalesce(${isClientEnabled("grants.client_id", "grants.document_client")}, false))
       and coalesce(clients.enabled, grants.document_client is not null and i.delegation_id is null) as "clientEnabled",
     case when grants.id is not null then json_build_object(
       'grantId', grants.id, 'authTime', ${seconds("grants.auth_time")}, 'signedOut', grants.signed_out_at is not null or grants.user_epoch <> users.epoch) end as root,
     case when users.id is not null then ${SUBJECT_JSON} end as subject
   from jsonb_to_recordset($1::jsonb) as i(n int, jti text, client_id text, client_record uuid, grant_id uuid, user_id uuid, delegation_id uuid, agent text)
     left join lateral (select true as is_revoked from revocations where revocations.jti = i.jti limit 1) revoked on true
     left join lateral (
       select issued.grant_id, ${endedAbove("issued.path")} as ended from delegations issued
       where issued.id = i.delegation_id and issued.jti = i.jti and issued.actor = i.client_id and issued.user_id = i.user_id limit 1) delegation on true
     left join lateral (
       select * from grants where grants.id = coalesce(delegation.grant_id, i.grant_id)
         and (i.delegation_id is not null or grants.client_id = i.client_id) and (i.user_id is null or grants.user_id = i.user_id)
       limit 1) grants on true
     left join lateral (
       select enabled and coalesce(clients.id = i.client_record, true) as enabled from clients where clients.client_id = i.client_id limit 1) clients on true
     left join lateral (select * from users where users.id = coalesce(i.user_id, grants.user_id) limit 1) users on true`,
);

const REVOKE = statement(
  "token_revoke",
  `with ended as (
     insert into revocations (jti, client_id, expires_at) select $1, $2, to_timestamp($3::float8) where to_timestamp($3::float8) > now()
     on conflict (jti) do nothing returning jti),
   cut as (
     update delegations set ${cutBy("$4")}
     where id = $5::uuid and jti = $1 and cut_at is null and to_timestamp($3::float8) > now()),
   logged as (${auditEach("ended", "$4")})
   select 1 as ended from ended`,
);

const uuidOrNull = (text: string | undefined): string | null => (text !== undefined && isUuid(text) ? text : null);

const keyOf = (token: TokenReference): string =>
  JSON.stringify([token.jti, token.clientId, token.clientRecord, token.grantId, token.userId, token.delegationId, token.agent]);

const UNKNOWN: TokenState = {
  now: Number.POSITIVE_INFINITY,
  revoked: false,
  agentPaused: false,
  grantLives: false,
  clientEnabled: false,
  subject: null,
  root: null,
};

export function tokenStates(sql: Sql): TokenStates {
  const load = coalesceReads(async (tokens: readonly TokenReference[]) => {
    const rows = tokens.map((token, n) => ({
      n,
      jti: token.jti,
      client_id: token.clientId,
      client_record: uuidOrNull(token.clientRecord),
      grant_id: uuidOrNull(token.grantId),
      user_id: uuidOrNull(token.userId),
      delegation_id: uuidOrNull(token.delegationId),
      agent: token.agent,
    }));
    const found = await readRows<TokenState & { readonly n: number }>(sql, OF, [jsonRows(rows)]);
    return new Map(found.map(({ n, ...state }): [string, TokenState] => [keyOf(tokens[n] as TokenReference), state]));
  }, keyOf);
  return {
    of: async (token) => (await load(token)) ?? UNKNOWN,
    revoke: (token, expiresAt, audit) =>
      execute(sql, REVOKE, [token.jti, token.clientId, expiresAt, jsonRows([audit]), uuidOrNull(token.delegationId)]),
  };
}

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
     select json_agg(marks) from (
       select id::text as sequence, kind, key, lifted, ${seconds("revoked_at")} as "revokedAt", ${seconds("expires_at")} as "expiresAt"
       from revocation_events where xid >= coalesce(start.since, 0) order by id) as marks), '[]') as marks
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
