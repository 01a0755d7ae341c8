import type { AuditEntry, AuditEvent } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { AgentPauses, Cut, DelegationRepository } from "./delegations.ts";
import { type Caller, whence } from "./sessions.ts";

/** What a person needs to see and stop those who act for her. */
export interface AgentPorts {
  readonly delegations: DelegationRepository;
  readonly agentPauses: AgentPauses;
}

const byHerself = (event: AuditEvent, userId: string, caller: Caller): AuditEntry => ({
  event,
  outcome: "success",
  actor: { type: "user", id: userId },
  userId,
  ...whence(caller),
});

/** Ends what an agent holds of this person, one delegation or all. @throws {Refusal} not_found, for what is another's too */
export async function endOtherSessions(what: Cut, userId: string, { delegations }: AgentPorts, caller: Caller): Promise<void> {
  const ended = await delegations.cut({ kind: "user", userId }, what, byHerself("delegation.cut", userId, caller));
  if (ended === undefined) throw new Refusal("not_found", "delegation_unknown", { description: "There is no such delegation." });
}

/** From now on the agent does nothing for this person, until she lets it go on. @throws {Refusal} not_found */
export async function pauseForOneself(agent: string, userId: string, { agentPauses }: AgentPorts, caller: Caller): Promise<void> {
  const paused = await agentPauses.pause({ kind: "user", userId }, agent, byHerself("agent.paused", userId, caller));
  if (paused === undefined) throw new Refusal("not_found", "agent_unknown", { description: "There is no such agent." });
}

/** Ends a pause of the person's own; one that operators made stays. */
export async function resumeForOneself(agent: string, userId: string, { agentPauses }: AgentPorts, caller: Caller): Promise<void> {
  await agentPauses.resume({ kind: "user", userId }, agent, byHerself("agent.resumed", userId, caller));
}
