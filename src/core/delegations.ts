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

export interface Delegations {
  /**
   * Stores a delegation if, at that moment, all above it lives: the grant neither revoked nor signed out of, user and clients enabled, the
   * agent not paused, no ancestor cut or revoked. One conditional statement with its audit record, coalesced. @returns whether it was
   * stored
   */
  record(delegation: NewDelegation, audit: AuditEntry): Promise<boolean>;
}
