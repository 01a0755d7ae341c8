import type { AuditEntry } from "../audit.ts";

/**
 * What the state of an access token hangs on. A person's token has `userId`, and either the grant that it comes from or the delegation
 * that it was issued for; a client_credentials token has none of the three.
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
 * What may end a token before its time. A delegated token is judged with all that it descends from. Members are false or absent when the
 * row behind them is missing.
 */
export interface TokenState {
  /** Seconds since the epoch by the database's clock at the read: what a token's `exp` is compared with, on every core alike. */
  readonly now: number;
  /** The token itself, or one that it descends from, was ended; or a delegation above it was cut, or its agent disabled or paused. */
  readonly revoked: boolean;
  /** The agent that asks may act for nobody, or not for this person, until whoever paused it lets it go on. */
  readonly agentPaused: boolean;
  /** The grant at the root lives, and a delegated token has its row. */
  readonly grantLives: boolean;
  /** The token's client may go on, and so may the one that holds the grant at the root. */
  readonly clientEnabled: boolean;
  readonly subject: (Subject & { readonly role: string }) | undefined;
  /** What is at the root of a person's token; undefined where that is gone. */
  readonly root: TokenRoot | undefined;
}

/** The grant from which a token descends. */
export interface TokenRoot {
  readonly grantId: string;
  /** Seconds since the epoch of the real authentication. */
  readonly authTime: number;
  /** The person has signed out since: tokens live to their expiry, but can be exchanged no more. */
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

/** The consent and the person behind a user grant, as they are needed to decide and to print claims. */
export interface Subject {
  readonly userId: string;
  readonly enabled: boolean;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly firstName: string | null;
  readonly lastName: string | null;
}

/** A grant that a person gave, to be opened together with its first tokens. */
export interface NewGrant {
  readonly id: string;
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  /** The audience that tokens of this grant carry when nothing narrower is asked for. */
  readonly audience: readonly string[];
  readonly authTime: number;
}
