import type { AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import type { RemoteKeys } from "../clients/public-keys.ts";
import type { AuthenticationDemand, StatedAuthentication } from "../protocol/authentication-context.ts";
import type { SecretHash } from "../random.ts";
import type { ResourceTerms } from "../resources/resource.ts";

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

/** What may invalidate a token before it expires, ancestors included. Members are false or null when their row is missing. */
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
  readonly subject: (Subject & { readonly role: string }) | null;
  /** The grant at the root of a user's token; null when it is deleted. */
  readonly root: TokenRoot | null;
}

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

/** What a code is bound to (OAuth 2.1 §4.1.2). */
export interface CodeBinding {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly nonce: string | null;
  readonly userId: string;
  readonly sessionId: string;
  /** Seconds since the epoch of the real authentication. */
  readonly authTime: number;
  /** The client of a metadata document as it was when the code was issued. */
  readonly documentClient?: Client | null;
  /** consentFingerprint of that client. */
  readonly clientFingerprint?: string;
  /** Set where tokens say how the user signed in. The store adds it from the session. */
  readonly stated?: Pick<StatedAuthentication, "requested" | "inIdToken">;
  /** Thumbprint of the key that has to be proven when the code is redeemed. */
  readonly dpopJkt?: string | null;
  /** The pushed request that the code uses up. */
  readonly pushedRequest?: SecretHash;
  /** What the session must fulfil when the code is stored. */
  readonly demand?: AuthenticationDemand;
}

/** The state of a code. Times in seconds since the epoch; `now` by the database's clock. */
export interface CodeState extends Omit<CodeBinding, "clientFingerprint" | "stated" | "demand" | "pushedRequest"> {
  readonly authentication?: StatedAuthentication | null;
  readonly expiresAt: number;
  /** The grant that the code was redeemed for; null while it is unused. */
  readonly grantId: string | null;
  readonly subject: Subject;
  /** Whether the client is an agent that an operator or the user has paused. */
  readonly agentPaused: boolean;
  /** Of the resources' records, in any realm. */
  readonly resourceTerms: readonly ResourceTerms[];
  readonly now: number;
}

/** The refresh family of a new grant. `ttl` and `maxAge` in seconds by the database's clock. `cnf` is the key that it is bound to. */
export interface NewFamily {
  readonly id: string;
  readonly tokenHash: SecretHash;
  readonly ttl: number;
  readonly maxAge: number;
  readonly cnf?: Confirmation;
}

export interface AuthorizationCodes {
  /**
   * Stores a code, in one conditional statement, if user and client are enabled, the session is live and as strong as demanded, and a
   * consent covers the request. The consent of a metadata document's client is bound to its first `clientFingerprint`. A stored code gets
   * no second record. A pushed request is used up by its first code.
   * @returns whether the code is stored
   */
  issue(codeHash: SecretHash, binding: CodeBinding, ttl: number, audit: AuditEntry): Promise<boolean>;
  byHash(codeHash: SecretHash): Promise<CodeState | undefined>;
  /**
   * Consumes the code and opens grant and family with the audit record, in one conditional statement.
   * @returns false when another redemption came first, the code has expired, or user or client is disabled
   */
  redeem(codeHash: SecretHash, grant: NewGrant, family: NewFamily | undefined, audit: AuditEntry): Promise<boolean>;
}

/** A device's request as it is stored. Times in seconds since the epoch; `now` by the database's clock. */
export interface DeviceState {
  readonly id: string;
  readonly deviceCodeHash: SecretHash;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  /** The client of a metadata document as it was at the request. */
  readonly documentClient?: Client | null;
  readonly address: string;
  /** Thumbprint of the key that the device proved: no other key redeems the device code. */
  readonly dpopJkt: string | null;
  readonly expiresAt: number;
  readonly deniedAt: number | null;
  readonly now: number;
}

/** `pollInterval` in seconds. */
export type NewDeviceRequest = Omit<DeviceState, "expiresAt" | "deniedAt" | "now"> & {
  readonly userCodeHash: SecretHash;
  readonly pollInterval: number;
};

/** Requests of devices. An approved one has an authorization code with the hash of its device code (AuthorizationCodes). */
export interface DeviceRequests {
  /** @param ttl seconds  @returns false when one of the codes is taken */
  open(request: NewDeviceRequest, ttl: number): Promise<boolean>;
  byDeviceCode(hash: SecretHash): Promise<DeviceState | undefined>;
  byId(id: string): Promise<DeviceState | undefined>;
  /** The id of the request, if it has neither been decided upon nor expired. */
  pendingByUserCode(hash: SecretHash): Promise<string | undefined>;
  /** Notes a poll. @param step seconds by which the interval grows after a poll that came too soon  @returns whether this one did */
  poll(deviceCodeHash: SecretHash, step: number): Promise<boolean>;
  /** Denies a pending request; does nothing to any other. @returns false for one that was approved before */
  deny(id: string): Promise<boolean>;
}

/** The subject of an identity assertion, and the identifier that it uses up. */
export interface AssertedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Undefined unless the issuer has verified it. */
  readonly verifiedEmail: string | undefined;
  readonly realmId: string;
  /** The id of the user, if one is created. */
  readonly newUserId: string;
  readonly jti: string;
  /** Seconds for which the identifier is remembered. */
  readonly remember: number;
}

export interface IdentityAssertions {
  /**
   * In one transaction, finds the user by (issuer, subject), else links one by a verified address, else creates one without a password;
   * uses up the identifier; opens the grant with its audit record.
   * @returns the user's id
   * @throws {Refusal} invalid_grant for a used identifier, and for a disabled user, a disabled client or a paused agent
   */
  accept(identity: AssertedIdentity, grant: Omit<NewGrant, "userId">, audit: AuditEntry): Promise<string>;
  /** What `accept` would find now; an unknown user counts as enabled. Writes nothing. */
  outlook(
    identity: AssertedIdentity,
    clientId: string,
  ): Promise<{ readonly enabled: boolean; readonly agentPaused: boolean; readonly used: boolean }>;
}

export interface IdentityAssertionPorts {
  /** ID_JAG_TRUSTED_ISSUERS */
  readonly trustedIssuers: readonly string[];
  /** ID_JAG_MAX_ASSERTION_LIFETIME in seconds. */
  readonly maxLifetime: number;
  /** The issuers' keys, found by OpenID Connect discovery. */
  readonly keys: RemoteKeys;
  readonly assertions: IdentityAssertions;
}
