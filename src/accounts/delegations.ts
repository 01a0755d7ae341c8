import type { AuditActor, AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { Page, Part } from "../paging.ts";
import { auditOfUser, type Caller } from "./caller.ts";

/** The delegations that a caller can reach: a user their own, an operator all. Every query includes it. */
export type Whose = { readonly kind: "user"; readonly userId: string } | { readonly kind: "everyone" };

/** Why a delegation is no longer valid. A pause is the reason only if there is no other. */
export type EndReason =
  | "cut"
  | "expired"
  | "agent_paused"
  | "agent_disabled"
  | "ended_above"
  | "paused_above"
  | "grant_ended"
  | "user_disabled"
  | "application_disabled";

/** `at` in seconds since the epoch with their fraction; null if not recorded. `by` is set for a cut only. */
export type End = { readonly reason: EndReason; readonly at: number | null; readonly by: AuditActor | null };

/** A client by its client_id, with its name where it still exists. */
export type NamedClient = { readonly clientId: string; readonly name: string | null };

/** An agent's right to act for a user. Times in seconds since the epoch with their fraction. */
export interface Delegation {
  readonly id: string;
  /** A cut does not reach the other server where an identity assertion is used. */
  readonly kind: "access_token" | "id_jag";
  readonly jti: string;
  /** The delegation whose token was exchanged; null at the top. */
  readonly parentId: string | null;
  readonly grantId: string;
  readonly userId: string;
  readonly email: string;
  /** The client to which the user gave the root grant. */
  readonly application: NamedClient;
  readonly agent: NamedClient;
  /** client_ids of all agents from the top to this one. */
  readonly chain: readonly string[];
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Null while it is valid. */
  readonly ended: End | null;
}

export interface RootGrant
  extends Pick<Delegation, "id" | "userId" | "email" | "application" | "scopes" | "audience" | "issuedAt" | "ended"> {
  /** When the user signed out, in seconds since the epoch: since then, exchanges are refused. */
  readonly signedOutAt: number | null;
}

/** A grant with the delegations derived from it, parents before children. */
export interface DelegationTree {
  readonly root: RootGrant;
  readonly delegations: readonly Delegation[];
  /** False if the grant has more delegations than are listed. */
  readonly complete: boolean;
}

/** `agent` is the client_id of the holder. `live`: true for valid delegations, false for ended ones. */
export type DelegationFilter = { readonly [Member in "userId" | "agent" | "grantId"]?: string | undefined } & {
  readonly live?: boolean | undefined;
};

export const DELEGATION_SORTS = ["created", "expires"] as const;
export type DelegationSort = (typeof DELEGATION_SORTS)[number];

export type Cut =
  | { readonly kind: "delegation"; readonly id: string }
  /** All delegations of an agent, for one user or for all in reach. Later ones are not affected. */
  | { readonly kind: "agent"; readonly clientId: string; readonly userId?: string | undefined }
  /** All delegations with this chain of agents below an application, for one user or for all in reach. Later ones are not affected. */
  | { readonly kind: "branch"; readonly application: string; readonly chain: readonly string[]; readonly userId?: string | undefined }
  /** The grant at the root, with the application's own tokens. */
  | { readonly kind: "grant"; readonly id: string };

/** Whose delegations are counted: those above and below an agent's, of a user, or of a grant. */
export type GroupsOf = { readonly kind: "agent"; readonly clientId: string } | { readonly kind: "user" | "grant"; readonly id: string };

/** Delegations with the same application and chain of agents, and the same user unless users are counted. */
export interface DelegationGroup {
  /** Null: of several users. */
  readonly userId: string | null;
  readonly email: string | null;
  readonly users: number;
  readonly application: NamedClient;
  /** From the agent below the application to the holder. */
  readonly chain: readonly NamedClient[];
  readonly live: number;
  /** Inactive through a pause alone. */
  readonly paused: number;
  readonly ended: number;
}

export interface DelegationGroups {
  /** Those with the most live delegations first. */
  readonly groups: readonly DelegationGroup[];
  /** False if some delegations or groups were left out. */
  readonly complete: boolean;
}

/** What an agent has had below one application in a user's name, in all delegations that are kept. Times in seconds since the epoch. */
export interface AgentAccess extends Pick<Delegation, "scopes"> {
  /** client_ids. */
  readonly agent: string;
  readonly application: string;
  readonly resources: readonly string[];
  readonly firstIssuedAt: number;
  readonly lastIssuedAt: number;
  /** When the last of them expires, unless it ends before. */
  readonly expiresAt: number;
}

/** Delegations as users and operators see and end them. They are kept for a day after expiry. */
export interface DelegationRepository {
  /** Newest first, unless sorted otherwise. */
  list(whose: Whose, filter: DelegationFilter, part: Part<DelegationSort>): Promise<Page<Delegation>>;
  /** @returns undefined for a grant that is unknown or out of reach */
  tree(whose: Whose, grantId: string, live?: boolean): Promise<DelegationTree | undefined>;
  /** Delegations in at most 150 groups: users are counted where they would be more. */
  groups(of: GroupsOf): Promise<DelegationGroups>;
  /** Each agent of a user once for each application, the latest first, however many delegations there are. */
  agentsOf(userId: string): Promise<readonly AgentAccess[]>;
  /** Ends a part of a tree and all below it, each with an audit record. @returns their number; undefined for a part out of reach */
  cut(whose: Whose, what: Cut, audit: AuditEntry): Promise<number | undefined>;
}

/** A pause of an agent. `pausedAt` in seconds since the epoch with their fraction. */
export interface AgentPause {
  readonly id: string;
  readonly agent: NamedClient;
  /** The user for whom the agent must not act; null: for all users. */
  readonly userId: string | null;
  readonly pausedAt: number;
  readonly by: AuditActor;
  /** In the words of the operator; null: not given. */
  readonly reason: string | null;
}

/** A pause by a user, of the agent with this client_id. */
export type OwnPause = { readonly agent: string; readonly pausedAt: number };

/** `userId` null: pauses for all users. */
export type PauseFilter = { readonly agent?: string | undefined; readonly userId?: string | null | undefined };

/**
 * Pauses of agents, by users for themselves and by operators for all users. Each side ends only its own. While an agent is paused, it
 * cannot exchange tokens and its delegations are invalid.
 */
export interface AgentPauses {
  /** Newest first. A user sees their own pauses, and the operators' pauses of agents that act for them. */
  list(whose: Whose, filter: PauseFilter, part: Part<"created">): Promise<Page<AgentPause>>;
  /** All pauses by a user, newest first. */
  ofUser(userId: string): Promise<readonly OwnPause[]>;
  /** Idempotent. Writes one record for each change, whose `note` is the reason. @returns whether this call paused it; undefined for an unknown agent */
  pause(whose: Whose, agent: string, audit: AuditEntry): Promise<boolean | undefined>;
  /** Idempotent. Writes one record for each change. @returns whether this call ended a pause */
  resume(whose: Whose, agent: string, audit: AuditEntry): Promise<boolean>;
}

type AgentPorts = { readonly delegations: DelegationRepository; readonly agentPauses: AgentPauses };

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
