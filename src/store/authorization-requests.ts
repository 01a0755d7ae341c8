import type { PendingRequest, PendingRequests } from "../accounts/ports.ts";
import type { PushedRequests } from "../core/ports.ts";
import { execute, firstRow, type Sql, statements } from "./sql.ts";
import { PENDING_REQUESTS } from "./tables/accounts.ts";

const PENDING = ["query", "createdAt"] as const;

const PENDING_SQL = statements("pending", {
  // Deletes the holder's oldest requests above the limit, but skips those that another call is deleting.
  put: `with surplus as (
     delete from pending_requests where id_hash = any(array(
       select id_hash from pending_requests where holder = $4 order by created_at desc offset $5::int - 1 for update skip locked)))
   insert into pending_requests (id_hash, query, expires_at, holder) values ($1::bytea, $2, now() + make_interval(secs => $3::int), $4)`,
  byId: `select ${PENDING_REQUESTS.select(PENDING)} from pending_requests where id_hash = $1::bytea and expires_at > now()`,
  extend: `update pending_requests set expires_at = created_at + make_interval(secs => $2::int)
   where id_hash = $1::bytea and expires_at > now() and expires_at < created_at + make_interval(secs => $2::int)`,
  take: `with taken as (
     delete from pending_requests where id_hash = $1::bytea and expires_at > now() returning query, holder, pending_requests.created_at),
   answered as (
     insert into pending_requests (id_hash, query, created_at, expires_at, holder)
     select $2::bytea, query, created_at, now() + make_interval(secs => $3::int), holder from taken)
   select ${PENDING_REQUESTS.select(PENDING, "taken")} from taken`,
});

export const pendingRequests = (sql: Sql): PendingRequests => ({
  put: (idHash, query, ttl, { holder, limit }) => execute(sql, PENDING_SQL.put, [idHash, query, ttl, holder, limit]),
  byId: (idHash) => firstRow<PendingRequest>(sql, PENDING_SQL.byId, [idHash]),
  extend: (idHash, ttl) => execute(sql, PENDING_SQL.extend, [idHash, ttl]),
  take: (idHash, answeredHash, ttl) => firstRow<PendingRequest>(sql, PENDING_SQL.take, [idHash, answeredHash, ttl]),
});

const PUSHED_SQL = statements("pushed", {
  put: `insert into pushed_requests (id_hash, client_id, query, expires_at) values ($1::bytea, $2, $3, now() + make_interval(secs => $4::int))`,
  open: `update pushed_requests set browser = $3, expires_at = greatest(expires_at, created_at + make_interval(secs => $4::int))
   where id_hash = $1::bytea and client_id = $2 and expires_at > now() and code_hash is null and (browser is null or browser = $3)
   returning query`,
  opened: `select query, code_hash is not null as "isUsed" from pushed_requests where id_hash = $1::bytea and client_id = $2 and expires_at > now() and browser is not null`,
});

export const pushedRequests = (sql: Sql): PushedRequests => ({
  put: (hash, clientId, query, ttl) => execute(sql, PUSHED_SQL.put, [hash, clientId, query, ttl]),
  open: async (hash, clientId, browser, ttl) =>
    (await firstRow<{ query: string }>(sql, PUSHED_SQL.open, [hash, clientId, browser, ttl]))?.query,
  opened: (hash, clientId) => firstRow<{ query: string; isUsed: boolean }>(sql, PUSHED_SQL.opened, [hash, clientId]),
});
