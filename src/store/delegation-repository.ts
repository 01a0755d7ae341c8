import type { Delegation, DelegationRepository, DelegationSort, EndReason, RootGrant } from "../accounts/delegations.ts";
import { EMPTY_PAGE } from "../paging.ts";
import { isUuid } from "../random.ts";
import { delegationCuts } from "./delegation-cuts.ts";
import { delegationGroups } from "./delegation-groups.ts";
import { APPLICATION, CHAIN, END, GRANT_END, userOf } from "./delegation-rows.ts";
import { type Fragment, type ListDescription, listPage } from "./list-query.ts";
import { isStorable, preciseSeconds, type Sql, type Statement, statement } from "./sql.ts";
import { DELEGATIONS } from "./tables/delegations.ts";
import { GRANTS } from "./tables/grants.ts";
import type { RowOf } from "./tables/table.ts";

/** The most delegations of one returned tree. */
const MOST = 1_000;

/** The select list of a delegation. @param reason SQL of END, or its value */
const nodes = (reason: string): string =>
  `${DELEGATIONS.select(["id", "kind", "jti", "parentId", "grantId", "userId", "scopes", "audience", "expiresAt", "cutAt", "cutByType", "cutBy"])},
     users.email, ${APPLICATION} as application, json_build_object('clientId', actor, 'name', (select name from clients where clients.client_id = actor)) as agent,
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
    if (agent !== undefined && !isStorable(agent)) return EMPTY_PAGE;
    const user = userOf(whose);
    const where = { $and: [{ actor: agent, grantId, userId }, ...(user === null ? [] : [{ userId: user }])] };
    const conditions = liveConditions(live, `(${END})`).map((condition): Fragment => [condition, []]);
    const { items, ...page } = await listPage<NodeRow, DelegationSort>(sql, LIST, { where, conditions }, part);
    return { ...page, items: items.map(delegationOf) };
  },
  tree: async (whose, grantId, live) => {
    if (!isUuid(grantId)) return undefined;
    const [root] = await sql.query<RootRow>(ROOT, [grantId, userOf(whose)]);
    if (root === undefined) return undefined;
    const rows = await sql.query<NodeRow>(OF_GRANT[`${live ?? "any"}`], [grantId, MOST + 1]);
    return { root: rootOf(root), delegations: rows.slice(0, MOST).map(delegationOf), complete: rows.length <= MOST };
  },
  groups: delegationGroups(sql),
  cut: delegationCuts(sql),
});
