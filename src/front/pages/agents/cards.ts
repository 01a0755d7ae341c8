import type { AgentPause, Delegation, NamedClient } from "../../../accounts/delegations.ts";
import { MAX_ACTORS, type NamedTarget } from "../../../clients/agents.ts";

/** One agent as the person is shown it. Times in seconds since the epoch. */
export interface AgentCard {
  readonly agent: NamedClient;
  /** What it holds: all that counts, or would if it were not paused. */
  readonly held: readonly Delegation[];
  /** When it last got something of hers; null where that is more than a day ago. */
  readonly lastActed: number | null;
  /** The person's own pause of it, and the operators' for everybody. */
  readonly pausedByUser: AgentPause | undefined;
  readonly pausedByOperator: AgentPause | undefined;
}

/** What counts, or would if neither its agent nor one before it were paused. */
const isHeld = ({ ended }: Delegation): boolean => ended === null || ended.reason === "agent_paused" || ended.reason === "paused_above";

/** The client_ids that a page of delegations names, or may have to. Pure. */
export const namedIn = (delegations: readonly Delegation[]): readonly string[] => [
  ...new Set(delegations.flatMap(({ chain, audience }) => [...chain, ...audience])),
];

/**
 * The agents that could get a token of their own for this one: none where the chain is full, or for an assertion, which is another
 * server's. Pure. @param targets the clients among its audience
 */
export function mayHandOnTo(
  { kind, chain, audience, agent }: Pick<Delegation, "kind" | "chain" | "audience" | "agent">,
  targets: ReadonlyMap<string, Pick<NamedTarget, "mayExchange">>,
): readonly string[] {
  if (kind === "id_jag" || chain.length >= MAX_ACTORS) return [];
  return audience.filter((value) => value !== agent.clientId && targets.get(value)?.mayExchange === true);
}

/**
 * A card for each agent that acts for the person, did so lately, or was paused by her: those that hold something first, then the latest.
 * Pure.
 * @param delegations in any order; one that is there twice counts once
 * @param pauses that hold for her
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
