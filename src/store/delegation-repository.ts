import type {
  AgentAccess,
  Cut,
  Delegation,
  DelegationGroup,
  DelegationRepository,
  DelegationSort,
  EndReason,
  GroupsOf,
  RootGrant,
} from "../accounts/delegations.ts";
import { auditEach } from "./audit-log.ts";
import { APPLICATION, CHAIN, cutBy, END, GRANT_END, namedClient, userOf } from "./delegations.ts";
import { endGrants } from "./grant-rows.ts";
import { type Fragment, type ListDescription, listPage } from "./list-query.ts";
import { firstRow, jsonRows, type Parameter, preciseSeconds, rowsOf, type Sql, type Statement, statement, type Tx } from "./sql.ts";
import { DELEGATIONS } from "./tables/delegations.ts";
import { GRANTS } from "./tables/grants.ts";
import type { RowOf } from "./tables/table.ts";

/** Groups of one picture, and delegations that are counted for it. */
const MOST_GROUPS = 150;
const MOST_DELEGATIONS = 10_000;

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
       array(select ${namedClient("actor")} from unnest(chain) with ordinality as one(actor, place) order by place) as chain
     from grouped order by live desc, every desc`,
  );

const BY = {
  agent: grouping("delegation_groups_of_agent", "actor = $1", true),
  user: grouping("delegation_groups_of_user", "user_id = $1::uuid", false),
  grant: grouping("delegation_groups_of_grant", "grant_id = $1::uuid", false),
};

const delegationGroups =
  (sql: Tx): DelegationRepository["groups"] =>
  async (of: GroupsOf) => {
    const key = of.kind === "agent" ? of.clientId : of.id;
    const rows = await rowsOf<DelegationGroup & { readonly held: number }>(sql, BY[of.kind], [key]);
    const groups = rows.slice(0, MOST_GROUPS).map(({ held: _, ...group }) => group);
    return { groups, complete: rows.length <= MOST_GROUPS && (rows[0]?.held ?? 0) <= MOST_DELEGATIONS };
  };

// Of the many delegations of a busy agent, few differ in scopes and audience: only those are unnested.
const AGENTS_OF = statement(
  "delegation_agents_of_user",
  `with kinds as materialized (
     select actor as agent, grants.client_id as application, delegations.scopes, delegations.audience,
       min(delegations.created_at) as first_at, max(delegations.created_at) as last_at, max(delegations.expires_at) as expires_at
     from delegations join grants on grants.id = delegations.grant_id where delegations.user_id = $1::uuid group by 1, 2, 3, 4),
   agents as (
     select agent, application, min(first_at) as first_at, max(last_at) as last_at, max(expires_at) as expires_at from kinds group by 1, 2),
   scoped as (select agent, application, array_agg(distinct one order by one) as scopes from kinds, unnest(scopes) as one group by 1, 2),
   reaching as (select agent, application, array_agg(distinct one order by one) as resources from kinds, unnest(audience) as one group by 1, 2)
   select agent, application, coalesce(scopes, '{}') as scopes, coalesce(resources, '{}') as resources,
     ${preciseSeconds("first_at")} as "firstIssuedAt", ${preciseSeconds("last_at")} as "lastIssuedAt", ${preciseSeconds("expires_at")} as "expiresAt"
   from agents left join scoped using (agent, application) left join reaching using (agent, application)
   order by last_at desc, agent, application`,
);

/** One audit record for each delegation or grant that was cut: its user, its grant and the client that held it. */
const logged = (jti: string, grantId: string): string =>
  `logged as (${auditEach("ended", "$1", { jti, userId: "ended.user_id::text", grantId: `${grantId}::text`, clientId: "ended.client_id" })})`;

// Delegations below a cut one, even those being stored, need no statement: their path makes them inactive.
const cutting = (name: string, where: string, exists: string) =>
  statement(
    name,
    `with ended as (
       update delegations set ${cutBy("$1")}
       where cut_at is null and ($2::uuid is null or user_id = $2::uuid) and ${where}
       returning jti, user_id, grant_id, actor as client_id),
     ${logged("ended.jti", "ended.grant_id")}
     select count(*)::int as ended, ${exists} as exists from ended`,
  );

const CUT = cutting(
  "delegation_cut",
  "id = $3::uuid",
  "exists (select 1 from delegations where id = $3::uuid and ($2::uuid is null or user_id = $2::uuid))",
);

/** Delegations cut by one statement, well within its deadline. */
const BATCH = 1_000;

const CUT_AGENT = cutting(
  "delegation_cut_agent",
  `id in (
     select id from delegations
     where cut_at is null and actor = $3 and ($2::uuid is null or user_id = $2::uuid) and ($4::uuid is null or user_id = $4::uuid) and expires_at > now()
     order by path limit ${BATCH} for no key update)`,
  "exists (select 1 from clients where client_id = $3 and is_agent) or exists (select 1 from delegations where actor = $3)",
);

const CUT_BRANCH = cutting(
  "delegation_cut_branch",
  `id in (
     select delegations.id from delegations join grants on grants.id = delegations.grant_id
     where cut_at is null and actor = ($4::text[])[cardinality($4::text[])] and grants.client_id = $3 and ${CHAIN} = $4::text[]
       and ($2::uuid is null or delegations.user_id = $2::uuid) and ($5::uuid is null or delegations.user_id = $5::uuid) and expires_at > now()
     order by path limit ${BATCH} for no key update of delegations)`,
  "exists (select 1 from delegations where actor = ($4::text[])[cardinality($4::text[])])",
);

const CUT_GRANT = statement(
  "delegation_cut_grant",
  `with ${endGrants("id = $3::uuid and ($2::uuid is null or user_id = $2::uuid)")},
   ${logged("null::text", "ended.id")}
   select count(*)::int as ended, exists (select 1 from grants where id = $3::uuid and ($2::uuid is null or user_id = $2::uuid)) as exists from ended`,
);

type Verdict = { readonly ended: number; readonly exists: boolean };

/** Cuts in batches, each with its records: if one fails, the earlier ones stay cut, and a retry continues there. */
async function cutAll(sql: Sql, cut: Statement, parameters: readonly Parameter[]): Promise<Verdict | undefined> {
  for (let total = 0; ; ) {
    const verdict = await firstRow<Verdict>(sql, cut, parameters);
    if (verdict === undefined) return undefined;
    total += verdict.ended;
    if (verdict.ended < BATCH) return { ended: total, exists: verdict.exists };
  }
}

const CUTS: Readonly<Record<Cut["kind"], Statement>> = { delegation: CUT, agent: CUT_AGENT, branch: CUT_BRANCH, grant: CUT_GRANT };

function keysOf(what: Cut): readonly Parameter[] {
  if (what.kind === "agent") return [what.clientId, what.userId ?? null];
  return what.kind === "branch" ? [what.application, what.chain, what.userId ?? null] : [what.id];
}

export const delegationCuts =
  (sql: Sql): DelegationRepository["cut"] =>
  async (whose, what, audit) => {
    const verdict = await cutAll(sql, CUTS[what.kind], [jsonRows([audit]), userOf(whose), ...keysOf(what)]);
    return verdict?.exists ? verdict.ended : undefined;
  };

/** The most delegations of one returned tree. */
const MOST = 1_000;

/** The select list of a delegation. @param reason SQL of END, or its value */
const nodes = (reason: string): string =>
  `${DELEGATIONS.select(["id", "kind", "jti", "parentId", "grantId", "userId", "scopes", "audience", "expiresAt", "cutAt", "cutByType", "cutBy"])},
     users.email, ${APPLICATION} as application, ${namedClient("actor")} as agent,
     ${CHAIN} as chain,
     ${preciseSeconds("delegations.created_at")} as "issuedAt", ${preciseSeconds("grants.revoked_at")} as "revokedAt", ${reason} as reason`;

/** Conditions for active (true) or ended delegations. Cheap ones come first, so that END is evaluated for few long-ended ones. */
const liveConditions = (live: boolean | undefined, reason: string): readonly string[] => {
  if (live === undefined) return [];
  return live ? ["delegations.cut_at is null", "delegations.expires_at > now()", `${reason} is null`] : [`${reason} is not null`];
};

// A path's times begin with those of the parent: sorted by them, a delegation follows its parent and the parent's earlier descendants.
const ofGrant = (live: boolean | undefined): Statement =>
  statement(
    `delegations_of_grant_${live ?? "any"}`,
    `select ${nodes("ends.reason")}
     from delegations join grants on grants.id = delegations.grant_id join users on users.id = delegations.user_id
       cross join lateral (select ${END} as reason) ends
     where ${["delegations.grant_id = $1::uuid", ...liveConditions(live, "ends.reason")].join(" and ")}
     order by array(select above.created_at from delegations above where above.id = any(delegations.path) order by cardinality(above.path)), delegations.path
     limit $2::int`,
  );

const OF_GRANT = { true: ofGrant(true), false: ofGrant(false), any: ofGrant(undefined) };

const ROOT = statement(
  "delegation_root",
  `select ${GRANTS.select(["id", "userId", "scopes", "audience", "signedOutAt", "revokedAt"])}, users.email, ${APPLICATION} as application,
     ${preciseSeconds("grants.created_at")} as "issuedAt", ${GRANT_END} as reason
   from grants join users on users.id = grants.user_id
   where grants.id = $1::uuid and ($2::uuid is null or grants.user_id = $2::uuid)`,
);

type RootRow = Omit<RootGrant, "ended"> & { readonly revokedAt: number | null; readonly reason: EndReason | null };

type NodeRow = Omit<Delegation, "ended"> &
  Pick<RootRow, "revokedAt" | "reason"> &
  Pick<RowOf<typeof DELEGATIONS>, "cutAt" | "cutByType" | "cutBy">;

const rootOf = ({ revokedAt, reason, ...root }: RootRow): RootGrant => ({
  ...root,
  ended: reason && { reason, at: reason === "grant_ended" ? revokedAt : null, by: null },
});

const delegationOf = ({ revokedAt, reason, cutAt, cutByType, cutBy, ...delegation }: NodeRow): Delegation => {
  const times: { readonly [Reason in EndReason]?: number | null } = { cut: cutAt, grant_ended: revokedAt, expired: delegation.expiresAt };
  const by = reason === "cut" && cutBy !== null && cutByType !== null ? { type: cutByType, id: cutBy } : null;
  return { ...delegation, ended: reason && { reason, at: times[reason] ?? null, by } };
};

const LIST: ListDescription<DelegationSort> = {
  table: DELEGATIONS,
  select: nodes(END),
  joins: { grantId: "grants", userId: "users" },
  sorts: {
    created: { by: "delegations.created_at", type: "timestamptz", order: "desc" },
    expires: { by: "delegations.expires_at", type: "timestamptz", order: "asc" },
  },
};

export const delegationRepository = (sql: Sql): DelegationRepository => ({
  list: async (whose, { userId, agent, grantId, live }, part) => {
    const user = userOf(whose);
    const where = { actor: agent, grantId, userId, ...(user !== null && { $and: [{ userId: user }] }) };
    const conditions = liveConditions(live, `(${END})`).map((condition): Fragment => [condition, []]);
    const { items, ...page } = await listPage<NodeRow, DelegationSort>(sql, LIST, { where, conditions }, part);
    return { ...page, items: items.map(delegationOf) };
  },
  tree: async (whose, grantId, live) => {
    const root = await firstRow<RootRow>(sql, ROOT, [grantId, userOf(whose)]);
    if (root === undefined) return undefined;
    const rows = await sql.query<NodeRow>(OF_GRANT[`${live ?? "any"}`], [grantId, MOST + 1]);
    return { root: rootOf(root), delegations: rows.slice(0, MOST).map(delegationOf), complete: rows.length <= MOST };
  },
  groups: delegationGroups(sql),
  agentsOf: (userId) => rowsOf<AgentAccess>(sql, AGENTS_OF, [userId]),
  cut: delegationCuts(sql),
});
