import type { AgentPause, Delegation, NamedClient } from "../../../accounts/delegations.ts";
import { MAX_ACTORS, type NamedTarget } from "../../../clients/client.ts";

/** One agent as the user sees it. Times in seconds since the epoch. */
export interface AgentCard {
  readonly agent: NamedClient;
  /** Its delegations that are active, or would be if no agent were paused. */
  readonly held: readonly Delegation[];
  /** When it last got a token; null where that is more than a day ago. */
  readonly lastActed: number | null;
  /** The user's pause, and the operators' pause for all users. */
  readonly pausedByUser: AgentPause | undefined;
  readonly pausedByOperator: AgentPause | undefined;
}

/** Whether a delegation is active, or would be if neither its agent nor an earlier one were paused. */
const isHeld = ({ ended }: Delegation): boolean => ended === null || ended.reason === "agent_paused" || ended.reason === "paused_above";

/** The client_ids whose names a page of delegations may show. Pure. */
export const namedIn = (delegations: readonly Delegation[]): readonly string[] => [
  ...new Set(delegations.flatMap(({ chain, audience }) => [...chain, ...audience])),
];

/**
 * The agents that could exchange this token: none where the chain is full, or for an assertion, which another server accepts. Pure.
 * @param targets the clients among its audience
 */
export function mayHandOnTo(
  { kind, chain, audience, agent }: Pick<Delegation, "kind" | "chain" | "audience" | "agent">,
  targets: ReadonlyMap<string, Pick<NamedTarget, "mayExchange">>,
): readonly string[] {
  if (kind === "id_jag" || chain.length >= MAX_ACTORS) return [];
  return audience.filter((value) => value !== agent.clientId && targets.get(value)?.mayExchange === true);
}

/**
 * A card for each agent that acts for the user, did so within a day, or is paused: agents with active delegations first, then the latest.
 * Pure.
 * @param delegations in any order; duplicates count once
 * @param pauses that apply to the user
 */
export function agentCards(delegations: readonly Delegation[], pauses: readonly AgentPause[]): readonly AgentCard[] {
  const known = [...new Map(delegations.map((delegation) => [delegation.id, delegation])).values()];
  const agents = new Map([...known, ...pauses].map(({ agent }) => [agent.clientId, agent]));
  const cards = [...agents.values()].map((agent): AgentCard => {
    const own = known.filter((delegation) => delegation.agent.clientId === agent.clientId).sort((a, b) => b.issuedAt - a.issuedAt);
    const paused = pauses.filter((pause) => pause.agent.clientId === agent.clientId);
    return {
      agent,
      held: own.filter(isHeld),
      lastActed: own[0]?.issuedAt ?? null,
      pausedByUser: paused.find(({ userId }) => userId !== null),
      pausedByOperator: paused.find(({ userId }) => userId === null),
    };
  });
  const rank = ({ held, lastActed }: AgentCard): readonly [boolean, number] => [held.length > 0, lastActed ?? 0];
  return cards.sort((one, other) => {
    const [[a, b], [c, d]] = [rank(one), rank(other)];
    return Number(c) - Number(a) || d - b || one.agent.clientId.localeCompare(other.agent.clientId);
  });
}
