import { Refusal } from "../errors.ts";
import type { AgentPauses, Cut, DelegationRepository } from "./delegations.ts";
import { auditOfUser, type Caller } from "./sessions.ts";

export type AgentPorts = { readonly delegations: DelegationRepository; readonly agentPauses: AgentPauses };

/** Ends one delegation of a user or all of an agent. @throws {Refusal} not_found, also for another user's */
export async function cutOwnDelegations(what: Cut, userId: string, { delegations }: AgentPorts, caller: Caller): Promise<void> {
  const cut = await delegations.cut({ kind: "user", userId }, what, auditOfUser("delegation.cut", userId, caller));
  if (cut === undefined) throw new Refusal("not_found", "delegation_unknown", { description: "There is no such delegation." });
}

/** Pauses an agent for a user until the user resumes it. @throws {Refusal} not_found */
export async function pauseForUser(agent: string, userId: string, { agentPauses }: AgentPorts, caller: Caller): Promise<void> {
  const paused = await agentPauses.pause({ kind: "user", userId }, agent, auditOfUser("agent.paused", userId, caller));
  if (paused === undefined) throw new Refusal("not_found", "agent_unknown", { description: "There is no such agent." });
}

/** Ends a user's own pause of an agent. A pause by operators stays. */
export async function resumeForUser(agent: string, userId: string, { agentPauses }: AgentPorts, caller: Caller): Promise<void> {
  await agentPauses.resume({ kind: "user", userId }, agent, auditOfUser("agent.resumed", userId, caller));
}
