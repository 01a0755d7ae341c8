import type { Delegation, DelegationRepository, EndReason, RootGrant } from "../accounts/delegations.ts";
import { isUuid } from "../random.ts";
import { delegationCuts } from "./delegation-cuts.ts";
import { brokenAbove, pausedAbove, pausedFor, userOf } from "./delegation-rows.ts";
import { isClientEnabled } from "./grant-rows.ts";
import { before, listRows, pageOf } from "./list-query.ts";
import { isStorable, preciseSeconds, type Sql, type Statement, statement } from "./sql.ts";
import { DELEGATIONS } from "./tables/delegations.ts";
import { GRANTS } from "./tables/grants.ts";
import type { RowOf } from "./tables/table.ts";

/** The most delegations of one returned tree. */
const MOST = 1_000;

/** Why a grant is inactive; null while it is active. */
const GRANT_END = `case
     when grants.revoked_at is not null then 'grant_ended'
     when not users.enabled then 'user_disabled'
     when not ${isClientEnabled("grants.client_id", "grants.document_client")} then 'application_disabled'
   end`;

/** Likewise for a delegation. Early ends precede its expiry; a pause comes last, for without it the delegation is active. */
const END = `case
     when delegations.cut_at is not null then 'cut'
     when grants.revoked_at < delegations.expires_at then 'grant_ended'
     when delegations.expires_at <= now() then 'expired'
     when not exists (select 1 from clients where clients.client_id = delegations.actor and clients.enabled) then 'agent_disabled'
     when ${brokenAbove("delegations.path")} then 'ended_above'
     else coalesce(${GRANT_END}, case
       when ${pausedFor("delegations.actor", "delegations.user_id")} then 'agent_paused'
       when ${pausedAbove("delegations.path")} then 'paused_above'
     end)
   end`;

const APPLICATION = `json_build_object('clientId', grants.client_id, 'name',
     coalesce((select name from clients where clients.client_id = grants.client_id), grants.document_client ->> 'name')) as application`;

/** The select list of a delegation. @param reason SQL of END, or its value */
const nodes = (reason: string): string =>
  `${DELEGATIONS.select(["id", "kind", "jti", "parentId", "grantId", "userId", "scopes", "audience", "expiresAt", "cutAt", "cutByType", "cutBy"])},
     users.email, ${APPLICATION}, json_build_object('clientId', actor, 'name', (select name from clients where clients.client_id = actor)) as agent,
     array(select above.actor from delegations above where above.id = any(delegations.path) order by cardinality(above.path)) as chain,
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

const CURSOR = statement("delegation_cursor", 'select created_at::text as "createdAt" from delegations where id = $1::uuid');

/** Conditions for what follows a delegation, newest first. If its row is gone, its id serves: it holds the second of its creation. */
async function following(sql: Sql, after: string): Promise<Readonly<Record<string, unknown>>> {
  const [last] = await sql.query<{ createdAt: string }>(CURSOR, [after]);
  if (last === undefined) return { id: before(after) };
  return { createdAt: { $lte: last.createdAt }, $or: [{ createdAt: { $lt: last.createdAt } }, { id: before(after) }] };
}

const ROOT = statement(
  "delegation_root",
  `select ${GRANTS.select(["id", "userId", "scopes", "audience", "signedOutAt", "revokedAt"])}, users.email, ${APPLICATION},
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

export const delegationRepository = (sql: Sql): DelegationRepository => ({
  list: async (whose, { userId, agent, grantId, live }, limit, after) => {
    if (agent !== undefined && !isStorable(agent)) return { items: [], next: null };
    const user = userOf(whose);
    const rows = await listRows<NodeRow>(sql, DELEGATIONS, {
      select: nodes(END),
      joins: { grantId: "grants", userId: "users" },
      where: {
        $and: [
          { actor: agent, grantId, userId },
          ...(user === null ? [] : [{ userId: user }]),
          ...(after ? [await following(sql, after)] : []),
        ],
      },
      conditions: liveConditions(live, `(${END})`),
      order: { createdAt: "desc", id: "desc" },
      limit: limit + 1,
    });
    return pageOf(rows.map(delegationOf), limit);
  },
  tree: async (whose, grantId, live) => {
    if (!isUuid(grantId)) return undefined;
    const [root] = await sql.query<RootRow>(ROOT, [grantId, userOf(whose)]);
    if (root === undefined) return undefined;
    const rows = await sql.query<NodeRow>(OF_GRANT[`${live ?? "any"}`], [grantId, MOST + 1]);
    return { root: rootOf(root), delegations: rows.slice(0, MOST).map(delegationOf), complete: rows.length <= MOST };
  },
  cut: delegationCuts(sql),
});
