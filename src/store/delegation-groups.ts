import type { DelegationGroup, DelegationRepository, GroupsOf } from "../accounts/delegations.ts";
import { isUuid } from "../random.ts";
import { APPLICATION, CHAIN, END } from "./delegation-rows.ts";
import { isStorable, statement, type Tx } from "./sql.ts";

/** Groups of one picture, and delegations that are counted for it. */
const MOST_GROUPS = 150;
const MOST_DELEGATIONS = 10_000;

const NAMED = (clientId: string): string =>
  `json_build_object('clientId', ${clientId}, 'name', (select name from clients where clients.client_id = ${clientId}))`;

/** @param held condition on delegations  @param around whether those above and below them belong to the picture */
const grouping = (name: string, held: string, around: boolean) =>
  statement(
    name,
    `with held as materialized (select id, path, grant_id from delegations where ${held} limit ${MOST_DELEGATIONS + 1}),
     nodes as materialized (${
       around
         ? `select distinct delegations.id from held join delegations using (grant_id)
            where held.id = any(delegations.path) or delegations.id = any(held.path)`
         : "select id from held"
     }),
     judged as materialized (
       select delegations.user_id, users.email, grants.client_id as application, ${APPLICATION} as named, ${CHAIN} as chain, ${END} as reason
       from nodes join delegations on delegations.id = nodes.id join grants on grants.id = delegations.grant_id
         join users on users.id = delegations.user_id),
     spread as (select count(*) as n from (select distinct user_id, application, chain from judged limit ${MOST_GROUPS + 1}) as one),
     grouped as (
       select case when spread.n <= ${MOST_GROUPS} then judged.user_id end as user_id, application, chain, min(named::text)::json as named,
         min(email) as email, count(distinct judged.user_id)::int as users, count(*) filter (where reason is null)::int as live,
         count(*) filter (where reason in ('agent_paused', 'paused_above'))::int as paused, count(*)::int as every
       from judged, spread group by 1, 2, 3 order by live desc, every desc limit ${MOST_GROUPS + 1})
     select user_id::text as "userId", case when user_id is not null then email end as email, users, named as application, live, paused,
       every - live - paused as ended, (select count(*) from held)::int as held,
       array(select ${NAMED("actor")} from unnest(chain) with ordinality as one(actor, place) order by place) as chain
     from grouped order by live desc, every desc`,
  );

const BY = {
  agent: grouping("delegation_groups_of_agent", "actor = $1", true),
  user: grouping("delegation_groups_of_user", "user_id = $1::uuid", false),
  grant: grouping("delegation_groups_of_grant", "grant_id = $1::uuid", false),
};

export const delegationGroups =
  (sql: Tx): DelegationRepository["groups"] =>
  async (of: GroupsOf) => {
    const key = of.kind === "agent" ? of.clientId : of.id;
    if (of.kind === "agent" ? !isStorable(key) : !isUuid(key)) return { groups: [], complete: true };
    const rows = await sql.query<DelegationGroup & { readonly held: number }>(BY[of.kind], [key]);
    const groups = rows.slice(0, MOST_GROUPS).map(({ held: _, ...group }) => group);
    return { groups, complete: rows.length <= MOST_GROUPS && (rows[0]?.held ?? 0) <= MOST_DELEGATIONS };
  };
