import type { AuditEntry } from "../audit.ts";

/**
 * The records on which the state of an access token depends. A user's token has `userId`, and either its grant or the delegation that it
 * was issued for; a client_credentials token has none of the three.
 */
export interface TokenReference {
  readonly jti: string;
  readonly clientId: string;
  readonly userId?: string;
  readonly grantId?: string;
  readonly delegationId?: string;
  /** client_id of the agent that asks to act with it, where one does. */
  readonly agent?: string;
}

/**
 * What may invalidate a token before it expires. A delegated token is evaluated with all that it was derived from. Members are false or
 * absent when their row is missing.
 */
export interface TokenState {
  /** Seconds since the epoch by the database's clock at the read: what a token's `exp` is compared with, on every core alike. */
  readonly now: number;
  /** The token itself, or one that it descends from, was ended; or a delegation above it was cut, or its agent disabled or paused. */
  readonly revoked: boolean;
  /** An operator or the user has paused the agent that acts with the token. */
  readonly agentPaused: boolean;
  /** The grant at the root lives, and a delegated token has its row. */
  readonly grantLives: boolean;
  /** The token's client may go on, and so may the one that holds the grant at the root. */
  readonly clientEnabled: boolean;
  readonly subject: (Subject & { readonly role: string }) | undefined;
  /** The grant at the root of a user's token; undefined when it is deleted. */
  readonly root: TokenRoot | undefined;
}

/** The grant from which a token descends. */
export interface TokenRoot {
  readonly grantId: string;
  /** Seconds since the epoch of the real authentication. */
  readonly authTime: number;
  /** The user has signed out since: tokens live to their expiry, but can no longer be exchanged. */
  readonly signedOut: boolean;
}

export interface TokenStates {
  /** Coalesced: one read for all tokens of a moment. */
  of(token: TokenReference): Promise<TokenState>;
  /**
   * Denies one access token until `expiresAt` (seconds since the epoch); one that has expired by the database's clock is left alone.
   * Idempotent.
   */
  revoke(token: TokenReference, expiresAt: number, audit: AuditEntry): Promise<void>;
}

/** The user of a grant, as rules and claims need them. */
export interface Subject {
  readonly userId: string;
  readonly enabled: boolean;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly firstName: string | null;
  readonly lastName: string | null;
}

/** A grant of a user, to be opened together with its first tokens. */
export interface NewGrant {
  readonly id: string;
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  /** The audience that tokens of this grant carry when nothing narrower is asked for. */
  readonly audience: readonly string[];
  readonly authTime: number;
}
