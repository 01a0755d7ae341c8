import { AGENT_MODES, type AgentMode } from "../../clients/client.ts";

/** The scope that asks for an agent mode. */
const agentScope = (mode: AgentMode): string => `agent:${mode}`;

/**
 * Which scopes a ceiling leaves: agent modes are independent scopes, and the ceiling only bounds which of them may be asked for.
 * @param ceiling null: no agent mode at all
 * @see docs/protocol.md#agents
 */
export function agentCeiling(ceiling: AgentMode | null): (scope: string) => boolean {
  const highest = ceiling === null ? -1 : AGENT_MODES.indexOf(ceiling);
  const above = AGENT_MODES.slice(highest + 1).map(agentScope);
  return (scope) => !above.includes(scope);
}
