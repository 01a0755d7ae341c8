import type { Whose } from "../accounts/delegations.ts";

/** Whether an agent is paused for all users or for this one. Both are SQL expressions. */
export const pausedFor = (agent: string, userId: string): string =>
  `exists (select 1 from agent_pauses where agent_pauses.agent = ${agent} and (agent_pauses.user_id is null or agent_pauses.user_id = ${userId}))`;

const onPath = (path: string, condition: string): string =>
  `exists (select 1 from delegations above where above.id = any(${path}) and (${condition}))`;

// A scalar look-up instead of `exists`, which the planner may turn into a hash of all clients.
const ENDED = `above.cut_at is not null
       or not coalesce((select clients.enabled from clients where clients.client_id = above.actor), false)
       or exists (select 1 from revocations where revocations.jti in (above.jti, above.parent_jti))`;
const PAUSED = pausedFor("above.actor", "above.user_id");

/**
 * Whether something on a path ended, apart from pauses: a delegation was cut, its agent disabled, or its token or the exchanged one
 * revoked.
 * @param path SQL expression of the ids of delegations
 */
export const brokenAbove = (path: string): string => onPath(path, ENDED);

/** Whether an agent on a path is paused. @param path SQL expression of the ids of delegations */
export const pausedAbove = (path: string): string => onPath(path, PAUSED);

/** Whether something on a path ended or is paused. @param path SQL expression of the ids of delegations */
export const endedAbove = (path: string): string => onPath(path, `${ENDED} or ${PAUSED}`);

/** Assignments that name who made a change, as its audit record does. @param entry SQL parameter with the records, a jsonb array */
export const madeBy = (change: string, entry: string): string =>
  `${change}_by_type = ${entry}::jsonb -> 0 -> 'actor' ->> 'type', ${change}_by = ${entry}::jsonb -> 0 -> 'actor' ->> 'id'`;

/** The user to whom a query is limited; null: none. */
export const userOf = (whose: Whose): string | null => (whose.kind === "user" ? whose.userId : null);
