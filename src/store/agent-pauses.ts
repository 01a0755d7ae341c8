import type { AgentPause, AgentPauses } from "../accounts/delegations.ts";
import { insertAudit } from "./audit-log.ts";
import { userOf } from "./delegation-rows.ts";
import { pageOf } from "./list-query.ts";
import { isStorable, jsonRows, type Sql, statement } from "./sql.ts";
import { AGENT_PAUSES } from "./tables/delegations.ts";

const LIST = statement(
  "agent_pauses_list",
  `select ${AGENT_PAUSES.select(["id", "userId", "pausedAt"])},
     json_build_object('clientId', agent, 'name', (select name from clients where clients.client_id = agent)) as agent,
     json_build_object('type', paused_by_type, 'id', paused_by) as by
   from agent_pauses
   where ($1::uuid is null or user_id = $1::uuid
       or (user_id is null and exists (select 1 from delegations where delegations.actor = agent and delegations.user_id = $1::uuid)))
     and ($2::text is null or agent_pauses.agent = $2::text) and ($3::uuid is null or user_id = $3::uuid) and ($4::uuid is null or agent_pauses.id < $4::uuid)
   order by agent_pauses.id desc limit $5::int`,
);

const logged = (rows: string): string =>
  `logged as (${insertAudit(
    `(select value || jsonb_build_object('clientId', ${rows}.agent, 'userId', ${rows}.user_id::text) as audit
      from ${rows}, jsonb_array_elements($3::jsonb)) as entries`,
  )})`;

const PAUSE = statement(
  "agent_pause",
  `with agent as (
     select client_id from clients
     where client_id = $1 and is_agent and ($2::uuid is null or exists (select 1 from users where users.id = $2::uuid))),
   paused as (
     insert into agent_pauses (agent, user_id, paused_by_type, paused_by)
     select client_id, $2::uuid, $3::jsonb -> 0 -> 'actor' ->> 'type', $3::jsonb -> 0 -> 'actor' ->> 'id' from agent
     on conflict do nothing returning agent, user_id),
   ${logged("paused")}
   select exists (select 1 from paused) as changed from agent`,
);

const RESUME = statement(
  "agent_resume",
  `with resumed as (delete from agent_pauses where agent = $1 and user_id is not distinct from $2::uuid returning agent, user_id),
   ${logged("resumed")}
   select 1 as changed from resumed`,
);

export const agentPauses = (sql: Sql): AgentPauses => ({
  list: async (whose, { agent, userId }, limit, after) => {
    if (agent !== undefined && !isStorable(agent)) return { items: [], next: null };
    const filter = [userOf(whose), agent ?? null, userId ?? null, after ?? null];
    return pageOf(await sql.query<AgentPause>(LIST, [...filter, limit + 1]), limit);
  },
  pause: async (whose, agent, audit) => {
    if (!isStorable(agent)) return undefined;
    const [row] = await sql.query<{ changed: boolean }>(PAUSE, [agent, userOf(whose), jsonRows([audit])]);
    return row?.changed;
  },
  resume: async (whose, agent, audit) => {
    if (!isStorable(agent)) return false;
    return (await sql.query(RESUME, [agent, userOf(whose), jsonRows([audit])])).length === 1;
  },
});
