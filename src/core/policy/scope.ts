import { AGENT_MODES, type AgentMode, type Client, PERSONAL_SCOPES } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import { parseScope } from "../../protocol/scope.ts";
import type { RuleHead } from "./rule.ts";

/** All scopes that a client may have: its allowlist without the agent modes above its ceiling. */
export const allowedScopes = (client: Client): readonly string[] => {
  const withinCeiling = agentCeiling(client.maxAgentMode);
  return client.scopes.filter(withinCeiling);
};

export const SCOPE_ALLOWED: RuleHead = {
  name: "scope_allowed",
  demand:
    "Of the scope something is left that the client's allowlist and ceiling let it have, more than offline_access alone; the rest is dropped.",
  source: "docs/protocol.md#scopes, RFC 6749 §3.3",
};

/** Requested scopes that the client may not have. Pure. */
export function droppedScopes(scope: string | undefined, client: Client): readonly string[] {
  const allowed = allowedScopes(client);
  return parseScope(scope).filter((name) => !allowed.includes(name));
}

/**
 * The requested scopes that the client may have; without `scope` all that it may have except `openid` and `offline_access`.
 * @throws {Refusal} invalid_scope when nothing is left, or `offline_access` alone
 * @see docs/protocol.md#scopes, RFC 6749 §3.3
 */
export function requestableScopes(scope: string | undefined, client: Client) {
  const allowed = allowedScopes(client);
  const requested = parseScope(scope);
  const granted =
    requested.length === 0 ? allowed.filter((name) => !PERSONAL_SCOPES.has(name)) : requested.filter((name) => allowed.includes(name));
  if (granted.every((name) => name === "offline_access")) {
    throw new Refusal("invalid_scope", "no_scope_left", {
      description:
        requested.length === 0
          ? "The client may have no scope."
          : granted.length === 0
            ? "The client may have none of these scopes."
            : "Of these scopes the client may have offline_access alone, which permits nothing by itself.",
    });
  }
  return { granted, dropped: requested.filter((name) => !allowed.includes(name)) };
}

/**
 * The scopes of a client's own token: at least one, all in the allowlist, none that needs a user.
 * @throws {Refusal} invalid_scope
 * @see docs/protocol.md#client-credentials, RFC 6749 §4.4.2
 */
export function clientScopes(scope: string | undefined, client: Client): readonly string[] {
  const requested = parseScope(scope);
  if (requested.length === 0) throw new Refusal("invalid_scope", "scope_missing", { description: "scope is missing." });
  const allowed = allowedScopes(client);
  if (!requested.every((name) => allowed.includes(name) && !PERSONAL_SCOPES.has(name)))
    throw new Refusal("invalid_scope", "scope_not_allowed", {
      description: "The client may not have one of these scopes, or it is one for users only (openid, offline_access).",
    });
  return requested;
}

/** Narrows the granted scopes to the requested ones, if any. @throws {Refusal} invalid_scope for others  @see RFC 6749 §6 */
export function narrowScope(scope: string | undefined, granted: readonly string[]): readonly string[] {
  const requested = parseScope(scope);
  if (requested.length === 0) return granted;
  if (!requested.every((name) => granted.includes(name)))
    throw new Refusal("invalid_scope", "scope_wider_than_granted", { description: "A scope is not among those that were granted." });
  return requested;
}

/**
 * The scopes of an exchanged token: those requested, or else all of the subject token's that the agent may have.
 * @throws {Refusal} invalid_scope for a scope outside of the subject token, the agent's ceiling or its allowlist
 * @see docs/protocol.md#token-exchange-rules, docs/protocol.md#agents, RFC 8693 §2.1
 */
export function exchangedScopes(scope: string | undefined, subjectScopes: readonly string[], agent: Client): readonly string[] {
  const requested = parseScope(scope);
  const allowed = allowedScopes(agent);
  if (requested.length === 0) return subjectScopes.filter((name) => allowed.includes(name));
  if (!requested.every((name) => subjectScopes.includes(name)))
    throw new Refusal("invalid_scope", "scope_wider_than_subject", { description: "A scope is not among those of the subject_token." });
  if (!requested.every(agentCeiling(agent.maxAgentMode)))
    throw new Refusal("invalid_scope", "agent_mode_above_ceiling", { description: "An agent mode is above the ceiling of this client." });
  if (!requested.every((name) => allowed.includes(name)))
    throw new Refusal("invalid_scope", "scope_not_allowed", { description: "The agent may not have one of these scopes." });
  return requested;
}

/** The scopes of the agent modes, the lowest first. */
const AGENT_SCOPES = AGENT_MODES.map((mode) => `agent:${mode}`);

/**
 * Whether a scope is within a ceiling: agent modes are independent scopes, and the ceiling is the highest that may be requested.
 * @param ceiling null permits no agent mode
 * @see docs/protocol.md#agents
 */
function agentCeiling(ceiling: AgentMode | null): (scope: string) => boolean {
  const highest = ceiling === null ? -1 : AGENT_MODES.indexOf(ceiling);
  const above = AGENT_SCOPES.slice(highest + 1);
  return (scope) => !above.includes(scope);
}
