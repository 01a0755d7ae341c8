import type { AuditEntry } from "../audit.ts";
import type { StatedAuthentication } from "../protocol/authentication-context.ts";

/** The key that a token is bound to: the thumbprint of a JWK (RFC 9449 §6.1) or of a certificate (RFC 8705 §3.1). */
export type Confirmation = { readonly jkt?: string; readonly "x5t#S256"?: string };

/** The records that decide the state of a token. A user's token has `userId` and either `grantId` or `delegationId`. */
export interface TokenReference {
  readonly jti: string;
  readonly clientId: string;
  /** UUID of the client's record, for a client's own token. */
  readonly clientRecord?: string;
  readonly userId?: string;
  readonly grantId?: string;
  readonly delegationId?: string;
  /** client_id of the agent that requests to act with the token. */
  readonly agent?: string;
}

/** What may invalidate a token before it expires, ancestors included. Members are false or undefined when their row is missing. */
export interface TokenState {
  /** Seconds since the epoch by the database's clock, to which every core compares `exp`. */
  readonly now: number;
  /** The token or an ancestor is revoked, a delegation above it is cut, or its agent is disabled or paused. */
  readonly revoked: boolean;
  /** An operator or the user has paused the agent that acts with the token. */
  readonly agentPaused: boolean;
  /** The grant at the root is live, and a delegated token has its row. */
  readonly grantLives: boolean;
  /** The token's client, by its record if that is named, and the client of the grant at the root are enabled. */
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
  /** The user has signed out: tokens stay valid until they expire, but cannot be exchanged. */
  readonly signedOut: boolean;
}

export interface TokenStates {
  /** Coalesced: one read for concurrent calls. */
  of(token: TokenReference): Promise<TokenState>;
  /** Revokes an access token until `expiresAt` (seconds since the epoch), unless the database's clock is past it. Idempotent. */
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

export interface NewGrant {
  readonly id: string;
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  /** The audience of tokens unless the request narrows it. */
  readonly audience: readonly string[];
  readonly authTime: number;
  /** How the user signed in, where tokens say it. */
  readonly authentication?: StatedAuthentication | null;
}
