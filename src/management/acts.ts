import type { Role } from "../accounts/ports.ts";
import type { DeveloperRule, SignUpPolicy } from "../accounts/sign-up-policy.ts";
import { type Client, isFirstParty, mayHoldApiKey } from "../clients/client.ts";
import { usesSecret } from "../clients/coherence.ts";
import type { Bearer } from "./ports.ts";

// Who may do what in the management API. The procedures refuse by these functions, and `viewer` reports what they return. All are pure.

type Caller = Pick<Bearer, "userId" | "role" | "clientId" | "scopes">;

/** An operator who signed in to the service itself. Tokens of other clients do not suffice, whatever their scopes. */
export const isOperator = (caller: Caller): boolean => caller.role === "operator" && isFirstParty(caller);

/** @see docs/protocol.md#roles */
export const mayMakeClients = (role: Role, rule: DeveloperRule): boolean =>
  rule === "all" || role === "operator" || (rule === "role" && role === "developer");

/** With SIGN_UP=closed operators create all accounts. */
export const mayInvite = ({ mode }: Pick<SignUpPolicy, "mode">): boolean => mode !== "closed";

export const mayChange = ({ origin }: Pick<Client, "origin">): boolean => origin !== "built_in";

/** Operators cannot lock themselves out, for they may be the last. */
export const isOneself = (caller: Pick<Bearer, "userId">, userId: string): boolean => caller.userId === userId;

/** `operate`: every procedure below `operator`. */
export const actsOf = (caller: Caller, policy: SignUpPolicy) => ({
  operate: isOperator(caller),
  createClients: mayMakeClients(caller.role, policy.developers),
  inviteUsers: isOperator(caller) && mayInvite(policy),
});

/** On a client in the caller's reach. */
export const actsOnClient = (caller: Caller, client: Client) => ({
  update: mayChange(client),
  delete: mayChange(client),
  regenerateSecret: usesSecret(client.tokenEndpointAuthMethod),
  setOperatorAttributes: mayChange(client) && isOperator(caller),
  createApiKeys: mayHoldApiKey(client) && client.ownerId === caller.userId,
});

/** Of an operator on a user. */
export const actsOnUser = (caller: Caller, userId: string) => {
  const others = !isOneself(caller, userId);
  return { disable: others, delete: others, setRole: others };
};
