import type { LogoutDeliveries, LogoutDelivery } from "../core/logout.ts";
import type { LogoutSubscriptions } from "../core/ports.ts";
import { execute, statements, type Tx } from "./sql.ts";

const SQL = statements("logout", {
  // Waits for a session that is being ended, whose trigger would not see the new row.
  subscribe: `with session as materialized (select id, user_id, ended_at from sessions where id = $1::uuid for share),
   noted as (
     insert into session_clients (session_id, client_id) select id, $2 from session where ended_at is null
     on conflict (session_id, client_id) do nothing)
   insert into logout_deliveries (client_id, user_id, session_id) select $2, user_id, id from session where ended_at is not null`,
  // A lease is a due time in the future: when a process dies, its notifications are due again after it. An array, as in outbox.ts.
  claim: `with claimed as (
     update logout_deliveries set due_at = now() + make_interval(secs => $2::int)
     where id = any(array(select id from logout_deliveries where due_at <= now() order by due_at limit $1::int for update skip locked))
     returning *)
   select claimed.id::text, claimed.client_id as "clientId", claimed.user_id::text as "userId", claimed.session_id::text as "sessionId",
     claimed.attempts, clients.backchannel_logout_uri as uri, clients.security_profile as "securityProfile"
   from claimed left join clients on clients.client_id = claimed.client_id and clients.enabled`,
  remove: "delete from logout_deliveries where id = $1::uuid",
  postpone: "update logout_deliveries set attempts = attempts + 1, due_at = now() + make_interval(secs => $2::int) where id = $1::uuid",
  unanswered: `update logout_deliveries set attempts = attempts + 1, due_at = now() + make_interval(secs => $2::int)
   where id in (select id from logout_deliveries where client_id = $1 and due_at <= now() for update skip locked)`,
});

export const logoutSubscriptions = (sql: Tx): LogoutSubscriptions => ({
  subscribe: (sessionId, clientId) => execute(sql, SQL.subscribe, [sessionId, clientId]),
});

export const logoutDeliveries = (sql: Tx): LogoutDeliveries => ({
  claim: (limit, lease) => sql.query<LogoutDelivery>(SQL.claim, [limit, lease]),
  done: (id) => execute(sql, SQL.remove, [id]),
  postponed: (id, seconds) => execute(sql, SQL.postpone, [id, seconds]),
  unanswered: (clientId, seconds) => execute(sql, SQL.unanswered, [clientId, seconds]),
});
