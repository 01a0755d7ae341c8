import type { Whose } from "../accounts/delegations.ts";
import type { Delegations } from "../core/ports.ts";
import { insertAudit, newAuditEntry } from "./audit-log.ts";
import { coalesceTransitions } from "./coalesce.ts";
import { isClientEnabled, partiesEnabled, userEpochPassed } from "./grant-rows.ts";
import { amongKeys, type Sql, statement } from "./sql.ts";
import { DELEGATIONS } from "./tables/delegations.ts";

/** Whether an agent is paused for all users or for this one. Both are SQL expressions. */
export const pausedFor = (agent: string, userId: string): string =>
  `exists (select 1 from agent_pauses where agent_pauses.agent = ${agent} and (agent_pauses.user_id is null or agent_pauses.user_id = ${userId}))`;

/** Whether a condition holds on a path. @param path SQL expression of the ids of delegations  @param condition on those, `above` */
const onPath = (path: string, condition: string): string =>
  `exists (select 1 from delegations above where above.id = any(${path}) and (${condition}))`;

// A delegation was cut, its agent disabled, or its token or the exchanged one revoked.
// A scalar look-up instead of `exists`, which the planner may turn into a hash of all clients.
const ENDED = `above.cut_at is not null
       or not coalesce((select clients.enabled from clients where clients.client_id = above.actor), false)
       or exists (select 1 from revocations where revocations.jti in (above.jti, above.parent_jti))`;
const PAUSED = pausedFor("above.actor", "above.user_id");

/** Whether something on a path ended or is paused. */
export const endedAbove = (path: string): string => onPath(path, `${ENDED} or ${PAUSED}`);

/** Assignments that cut a delegation and name who did, as the audit record does. @param entry SQL parameter with the records, a jsonb array */
export const cutBy = (entry: string): string =>
  `cut_at = now(), cut_by_type = ${entry}::jsonb -> 0 -> 'actor' ->> 'type', cut_by = ${entry}::jsonb -> 0 -> 'actor' ->> 'id'`;

/** The user to whom a query is limited; null: none. */
export const userOf = (whose: Whose): string | null => (whose.kind === "user" ? whose.userId : null);

/** Why a grant is inactive; null while it is active. */
export const GRANT_END = `case
     when grants.revoked_at is not null then 'grant_ended'
     when not users.enabled then 'user_disabled'
     when not ${isClientEnabled("grants.client_id", "grants.document_client")} then 'application_disabled'
   end`;

/** Likewise for a delegation. Early ends precede its expiry; a pause comes last, for without it the delegation is active. */
export const END = `case
     when delegations.cut_at is not null then 'cut'
     when grants.revoked_at < delegations.expires_at then 'grant_ended'
     when delegations.expires_at <= now() then 'expired'
     when not coalesce((select clients.enabled from clients where clients.client_id = delegations.actor), false) then 'agent_disabled'
     when ${onPath("delegations.path", ENDED)} then 'ended_above'
     else coalesce(${GRANT_END}, case
       when ${pausedFor("delegations.actor", "delegations.user_id")} then 'agent_paused'
       when ${onPath("delegations.path", PAUSED)} or ${pausedFor("grants.client_id", "grants.user_id")} then 'paused_above'
     end)
   end`;

/** The client to which the user gave the grant, as JSON. */
export const APPLICATION = `json_build_object('clientId', grants.client_id, 'name',
     coalesce((select name from clients where clients.client_id = grants.client_id), grants.document_client ->> 'name'))`;

/** A client with its name, as JSON. @param clientId SQL expression */
export const namedClient = (clientId: string): string =>
  `json_build_object('clientId', ${clientId}, 'name', (select name from clients where clients.client_id = ${clientId}))`;

/** client_ids of the agents of a delegation, the topmost first. */
export const CHAIN =
  "array(select above.actor from delegations above where above.id = any(delegations.path) order by cardinality(above.path))";

const NEW = ["id", "kind", "jti", "parentId", "parentJti", "grantId", "userId", "actor", "scopes", "audience", "expiresAt", "cnf"] as const;

// Locks the agents: the deletion of one waits for the delegation, and then cuts it, so that no later client with its client_id has it. If
// something above a delegation ends while it is stored, its path and grant make it inactive. Foreign keys lock its parent, grant and user,
// row by row in the order of insertion; closing an account takes the same order. The times keep the order of the requests.
const RECORD = statement(
  "delegation_record",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       n int, client_id text, ${DELEGATIONS.recordset(NEW)}, audit jsonb)),
   agents as materialized (
     select client_id from clients where ${amongKeys("client_id", "client_id", "input")} and enabled order by id for key share),
   valid as (
     select input.*, coalesce(parent.path, '{}') || input.id as path
     from input
       join grants on grants.id = input.grant_id and grants.user_id = input.user_id and grants.revoked_at is null and grants.signed_out_at is null
         and not ${userEpochPassed("grants")}
       left join delegations parent on parent.id = input.parent_id and parent.grant_id = input.grant_id and parent.jti = input.parent_jti
     where (input.parent_id is null or parent.id is not null) and ${partiesEnabled("grants")}
       and input.client_id in (select client_id from agents)
       and not ${pausedFor("input.client_id", "input.user_id")}
       and not exists (select 1 from revocations where revocations.jti = input.parent_jti)
       and not ${endedAbove("parent.path")}),
   stored as (
     insert into delegations (${DELEGATIONS.names(NEW)}, path, created_at)
     select ${DELEGATIONS.values(NEW)}, path, statement_timestamp() + n * interval '1 microsecond'
     from valid order by parent_id is null, trim_array(path, 1)),
   logged as (${insertAudit("valid")})
   select n from valid`,
);

const newRow = DELEGATIONS.writer(NEW);

export const delegations = (sql: Sql): Delegations => ({
  record: coalesceTransitions(sql, RECORD, (...[{ parent, ...delegation }, audit]: Parameters<Delegations["record"]>) => ({
    client_id: delegation.actor,
    ...newRow({ ...delegation, cnf: delegation.cnf ?? null, parentId: parent.delegationId ?? null, parentJti: parent.jti }),
    audit: newAuditEntry(audit),
  })),
});
