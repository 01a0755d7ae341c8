import type { Delegation, DelegationRepository, End, EndReason, RootGrant } from "../accounts/delegations.ts";
import type { AuditActor } from "../audit.ts";
import { isUuid } from "../identifier.ts";
import { delegationCuts } from "./delegation-cuts.ts";
import { brokenAbove, pausedAbove, pausedFor, userOf } from "./delegation-rows.ts";
import { clientStands } from "./document-client.ts";
import { open, pageOf } from "./pages.ts";
import { isStorable, preciseSeconds, type Sql, statement } from "./sql.ts";

/** Delegations of one tree that are shown. */
const MOST = 1_000;

/** Why a grant counts no more. What counts is null. */
const GRANT_END = `case
     when grants.revoked_at is not null then 'grant_ended'
     when not users.enabled then 'user_disabled'
     when not ${clientStands("grants.client_id", "grants.document_client")} then 'application_disabled'
   end`;

/**
 * The same of a delegation. What ended it before its time comes before the time; a pause last, for without it the delegation would count.
 */
const END = `case
     when node.cut_at is not null then 'cut'
     when grants.revoked_at < node.expires_at then 'grant_ended'
     when node.expires_at <= now() then 'expired'
     when not exists (select 1 from clients where clients.client_id = node.actor and clients.enabled) then 'agent_disabled'
     when ${brokenAbove("node.path")} then 'ended_above'
     else coalesce(${GRANT_END}, case
       when ${pausedFor("node.actor", "node.user_id")} then 'agent_paused'
       when ${pausedAbove("node.path")} then 'paused_above'
     end)
   end`;

const APPLICATION = `grants.client_id as application,
   coalesce((select name from clients where clients.client_id = grants.client_id), grants.document_client ->> 'name') as application_name`;

const NODES = `select node.id::text, node.kind, node.jti, node.parent_id::text, node.grant_id::text, node.user_id::text, users.email, ${APPLICATION},
     node.actor as agent, (select name from clients where clients.client_id = node.actor) as agent_name,
     array(select above.actor from delegations above where above.id = any(node.path) order by cardinality(above.path)) as chain,
     node.scopes, node.audience, ${preciseSeconds("node.created_at")} as issued_at, ${preciseSeconds("node.expires_at")} as expires_at,
     ${preciseSeconds("node.cut_at")} as cut_at, node.cut_by_type, node.cut_by, ${preciseSeconds("grants.revoked_at")} as revoked_at, ends.reason
   from delegations node
     join grants on grants.id = node.grant_id
     join users on users.id = node.user_id
     cross join lateral (select ${END} as reason) ends`;

// What is cheap to see comes first, so that those which have ended long since are not judged one by one to find the few that count.
const LIVE = (parameter: string): string =>
  `(${parameter}::boolean is distinct from true or (node.cut_at is null and node.expires_at > now()))
     and (${parameter}::boolean is null or (ends.reason is null) = ${parameter}::boolean)`;

// An id tells the second in which it was made: that has to do once the row that a page ended with is gone.
const LIST = statement(
  "delegations_list",
  `${NODES}
     left join delegations after on after.id = $6::uuid
   where ($1::uuid is null or node.user_id = $1::uuid) and ($2::uuid is null or node.user_id = $2::uuid)
     and ($3::text is null or node.actor = $3::text) and ($4::uuid is null or node.grant_id = $4::uuid) and ${LIVE("$5")}
     and ($6::uuid is null or case when after.id is null then node.id < $6::uuid else (node.created_at, node.id) < (after.created_at, after.id) end)
   order by node.created_at desc, node.id desc limit $7::int`,
);

// The moments of a path begin with those of the delegation above it: in their order each comes after what it came of, and after what came
// of that before.
const OF_GRANT = statement(
  "delegations_of_grant",
  `${NODES} where node.grant_id = $1::uuid and ${LIVE("$2")} order by array(select above.created_at from delegations above where above.id = any(node.path) order by cardinality(above.path)), node.path limit $3::int`,
);

const ROOT = statement(
  "delegation_root",
  `select grants.id::text, grants.user_id::text, users.email, ${APPLICATION}, grants.scopes, grants.audience,
     ${preciseSeconds("grants.created_at")} as issued_at, ${preciseSeconds("grants.signed_out_at")} as signed_out_at,
     ${preciseSeconds("grants.revoked_at")} as revoked_at, ${GRANT_END} as reason
   from grants join users on users.id = grants.user_id
   where grants.id = $1::uuid and ($2::uuid is null or grants.user_id = $2::uuid)`,
);

interface RootColumns {
  readonly id: string;
  readonly user_id: string;
  readonly email: string;
  readonly application: string;
  readonly application_name: string | null;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly issued_at: number;
  readonly signed_out_at: number | null;
  readonly revoked_at: number | null;
  readonly reason: EndReason | null;
}

interface NodeColumns extends Omit<RootColumns, "signed_out_at"> {
  readonly kind: Delegation["kind"];
  readonly jti: string;
  readonly parent_id: string | null;
  readonly grant_id: string;
  readonly agent: string;
  readonly agent_name: string | null;
  readonly chain: readonly string[];
  readonly expires_at: number;
  readonly cut_at: number | null;
  readonly cut_by_type: AuditActor["type"] | null;
  readonly cut_by: string | null;
}

const endOf = (reason: EndReason | null, { cut, grant, expiry }: { cut?: End; grant: number | null; expiry?: number }): End | null => {
  if (reason === null) return null;
  if (reason === "cut" && cut !== undefined) return cut;
  const at = reason === "grant_ended" ? grant : reason === "expired" ? (expiry ?? null) : null;
  return { reason, at, by: null };
};

const rootOf = (row: RootColumns): RootGrant => ({
  id: row.id,
  userId: row.user_id,
  email: row.email,
  application: { clientId: row.application, name: row.application_name },
  scopes: row.scopes,
  audience: row.audience,
  issuedAt: row.issued_at,
  signedOutAt: row.signed_out_at,
  ended: endOf(row.reason, { grant: row.revoked_at }),
});

const delegationOf = (row: NodeColumns): Delegation => ({
  id: row.id,
  kind: row.kind,
  jti: row.jti,
  parentId: row.parent_id,
  grantId: row.grant_id,
  userId: row.user_id,
  email: row.email,
  application: { clientId: row.application, name: row.application_name },
  agent: { clientId: row.agent, name: row.agent_name },
  chain: row.chain,
  scopes: row.scopes,
  audience: row.audience,
  issuedAt: row.issued_at,
  expiresAt: row.expires_at,
  ended: endOf(row.reason, {
    cut: {
      reason: "cut",
      at: row.cut_at,
      by: row.cut_by === null || row.cut_by_type === null ? null : { type: row.cut_by_type, id: row.cut_by },
    },
    grant: row.revoked_at,
    expiry: row.expires_at,
  }),
});

export const delegationRepository = (sql: Sql): DelegationRepository => ({
  list: async (whose, { userId, agent, grantId, live }, limit, after) => {
    if (agent !== undefined && !isStorable(agent)) return { items: [], next: null };
    const filter = [userOf(whose), open(userId), open(agent), open(grantId), open(live), open(after)];
    return pageOf(await sql.query<NodeColumns>(LIST, [...filter, limit + 1]), limit, delegationOf);
  },
  tree: async (whose, grantId, live) => {
    if (!isUuid(grantId)) return undefined;
    const [root] = await sql.query<RootColumns>(ROOT, [grantId, userOf(whose)]);
    if (root === undefined) return undefined;
    const rows = await sql.query<NodeColumns>(OF_GRANT, [grantId, open(live), MOST + 1]);
    return { root: rootOf(root), delegations: rows.slice(0, MOST).map(delegationOf), complete: rows.length <= MOST };
  },
  cut: delegationCuts(sql),
});
