import type { AgentPause, AgentPauses, OwnPause } from "../accounts/delegations.ts";
import { auditEach } from "./audit-log.ts";
import { namedClient, userOf } from "./delegations.ts";
import { type Fragment, type ListDescription, listPage } from "./list-query.ts";
import { firstRow, hasRow, jsonRows, preciseSeconds, rowsOf, type Sql, statements } from "./sql.ts";
import { AGENT_PAUSES } from "./tables/delegations.ts";

const LIST: ListDescription<"created"> = {
  table: AGENT_PAUSES,
  select: `${AGENT_PAUSES.select(["id", "userId", "pausedAt", "reason"])},
     ${namedClient("agent")} as agent,
     json_build_object('type', paused_by_type, 'id', paused_by) as by`,
  sorts: { created: { by: null, order: "desc" } },
};

/** Pauses by a user, and pauses for all users of agents that act for that user. */
const IN_REACH = `agent_pauses.user_id = ?::uuid
   or (agent_pauses.user_id is null
     and exists (select 1 from delegations where delegations.actor = agent_pauses.agent and delegations.user_id = ?::uuid))`;

const logged = (rows: string): string => `logged as (${auditEach(rows, "$3", { clientId: "agent", userId: "user_id::text" })})`;

const SQL = statements("agent", {
  pause: `with agent as (
     select client_id from clients
     where client_id = $1 and is_agent and ($2::uuid is null or exists (select 1 from users where users.id = $2::uuid)) for share),
   paused as (
     insert into agent_pauses (agent, user_id, paused_by_type, paused_by, reason)
     select client_id, $2::uuid, $3::jsonb -> 0 -> 'actor' ->> 'type', $3::jsonb -> 0 -> 'actor' ->> 'id', $3::jsonb -> 0 ->> 'note' from agent
     on conflict do nothing returning agent, user_id),
   ${logged("paused")}
   select exists (select 1 from paused) as changed from agent`,
  resume: `with resumed as (delete from agent_pauses where agent = $1 and user_id is not distinct from $2::uuid returning agent, user_id),
   ${logged("resumed")}
   select 1 as changed from resumed`,
  of_user: `select agent, ${preciseSeconds("paused_at")} as "pausedAt" from agent_pauses where user_id = $1::uuid order by id desc`,
});

export const agentPauses = (sql: Sql): AgentPauses => ({
  list: (whose, where, part) => {
    const user = userOf(whose);
    const conditions: readonly Fragment[] = user === null ? [] : [[`(${IN_REACH})`, [user, user]]];
    return listPage<AgentPause, "created">(sql, LIST, { where, conditions }, part);
  },
  ofUser: (userId) => rowsOf<OwnPause>(sql, SQL.of_user, [userId]),
  pause: async (whose, agent, audit) =>
    (await firstRow<{ changed: boolean }>(sql, SQL.pause, [agent, userOf(whose), jsonRows([audit])]))?.changed,
  resume: (whose, agent, audit) => hasRow(sql, SQL.resume, [agent, userOf(whose), jsonRows([audit])]),
});
