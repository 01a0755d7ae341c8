import type { AuditEntry } from "../audit.ts";
import type { TokenReference } from "./token-state.ts";

/** An exchange that is granted. Times in seconds since the epoch. */
export interface NewDelegation {
  readonly id: string;
  readonly kind: "access_token" | "id_jag";
  readonly jti: string;
  /** The token that was exchanged, and the delegation that it was issued for, if it was. */
  readonly parent: TokenReference;
  /** The grant at the root. */
  readonly grantId: string;
  readonly userId: string;
  /** client_id of the agent that the new token is for. */
  readonly actor: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly expiresAt: number;
}

/** Which part of the tree of delegations is to end. */
export type Cut =
  | { readonly kind: "delegation"; readonly id: string }
  /** All that the agent holds, of one person or of everybody. What it is given later stands by itself. */
  | { readonly kind: "agent"; readonly clientId: string; readonly userId?: string };

export interface Delegations {
  /**
   * Stores a delegation if, at that moment, all above it lives: the grant neither revoked nor signed out of, user and clients enabled, no
   * ancestor cut or revoked. One conditional statement with its audit record, coalesced. @returns whether it was stored
   */
  record(delegation: NewDelegation, audit: AuditEntry): Promise<boolean>;
  /** Ends delegations; with each goes all below it. One record for each that this call ended. @returns how many that were */
  cut(what: Cut, audit: AuditEntry): Promise<number>;
}
