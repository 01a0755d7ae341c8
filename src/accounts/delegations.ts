import type { AuditActor, AuditEntry } from "../audit.ts";

/** Whose delegations a caller can reach: users their own, operators all. It is part of every query. */
export type Whose = { readonly kind: "user"; readonly userId: string } | { readonly kind: "all" };

/**
 * Why a delegation counts no more: cut itself, or brought to an end by something behind it. Of the pauses it is told only while nothing
 * else stands against it.
 */
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

/** `at` in seconds since the epoch with their fraction; null where no moment is kept. `by` only of a cut. */
export interface End {
  readonly reason: EndReason;
  readonly at: number | null;
  readonly by: AuditActor | null;
}

/** A client by its client_id, with its name where it still exists. */
export interface NamedClient {
  readonly clientId: string;
  readonly name: string | null;
}

/** What one agent holds on a person's behalf. Times in seconds since the epoch with their fraction. */
export interface Delegation {
  readonly id: string;
  /** An identity assertion is good at another server, where no cut reaches it; what it was made of ends here all the same. */
  readonly kind: "access_token" | "id_jag";
  readonly jti: string;
  /** The delegation whose token was exchanged; null for the topmost. */
  readonly parentId: string | null;
  readonly grantId: string;
  readonly userId: string;
  readonly email: string;
  /** To which the person gave the grant at the root. */
  readonly application: NamedClient;
  readonly agent: NamedClient;
  /** client_ids of all agents from the topmost to this one. */
  readonly chain: readonly string[];
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Null while it counts. */
  readonly ended: End | null;
}

/** The grant from which a tree grows. Times in seconds since the epoch with their fraction. */
export interface RootGrant {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
  readonly application: NamedClient;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly issuedAt: number;
  /** The person has signed out since: nothing more is exchanged. */
  readonly signedOutAt: number | null;
  readonly ended: End | null;
}

/** A grant with what agents got out of it: each delegation after the one that it came of. */
export interface DelegationTree {
  readonly root: RootGrant;
  readonly delegations: readonly Delegation[];
  /** Whether these are all; a grant may have more than anybody can read. */
  readonly complete: boolean;
}

export interface DelegationFilter {
  readonly userId?: string | undefined;
  /** client_id of the agent that holds it. */
  readonly agent?: string | undefined;
  readonly grantId?: string | undefined;
  /** True: those that count; false: those that have ended. */
  readonly live?: boolean | undefined;
}

/** Which part of the tree is to end. */
export type Cut =
  | { readonly kind: "delegation"; readonly id: string }
  /** All that the agent holds, of one person or of everybody in reach. What it is given later stands by itself. */
  | { readonly kind: "agent"; readonly clientId: string; readonly userId?: string | undefined }
  /** The grant at the root, with the application's own tokens. */
  | { readonly kind: "grant"; readonly id: string };

/** Delegations as people and operators see and end them. They are kept for a day after their expiry. */
export interface DelegationRepository {
  /** Newest first. @param after `next` of the page before */
  list(
    whose: Whose,
    filter: DelegationFilter,
    limit: number,
    after?: string,
  ): Promise<{ readonly items: readonly Delegation[]; readonly next: string | null }>;
  /** @returns undefined for a grant that is unknown or out of reach */
  tree(whose: Whose, grantId: string, live?: boolean): Promise<DelegationTree | undefined>;
  /**
   * Ends it, at once and for good, and with it all below it. One audit record for each delegation or grant that this call ended.
   * @returns how many those were; undefined for what is unknown or out of reach
   */
  cut(whose: Whose, what: Cut, audit: AuditEntry): Promise<number | undefined>;
}

/** An agent that may not act for now. `pausedAt` in seconds since the epoch with their fraction. */
export interface AgentPause {
  readonly id: string;
  readonly agent: NamedClient;
  /** For whom it may not act; null: for nobody. */
  readonly userId: string | null;
  readonly pausedAt: number;
  readonly by: AuditActor;
}

/**
 * Pauses of agents: a person's hold for herself, an operator's for everybody, and each ends its own alone. While paused an agent exchanges
 * nothing and its delegations do not count; resumed, those that have neither expired nor been cut count again.
 */
export interface AgentPauses {
  /** Newest first. A person is told of her own, and of pauses for everybody of agents that act for her. */
  list(
    whose: Whose,
    filter: { readonly agent?: string | undefined; readonly userId?: string | undefined },
    limit: number,
    after?: string,
  ): Promise<{ readonly items: readonly AgentPause[]; readonly next: string | null }>;
  /** Idempotent, one record for each change. @returns whether this call paused it; undefined when there is no such agent */
  pause(whose: Whose, agent: string, audit: AuditEntry): Promise<boolean | undefined>;
  /** Idempotent, one record for each change. @returns whether this call ended a pause */
  resume(whose: Whose, agent: string, audit: AuditEntry): Promise<boolean>;
}
