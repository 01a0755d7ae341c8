import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import type { RemoteKeys } from "../clients/key-set.ts";
import type { ApiKeyDirectory, ClientDirectory, ClientDocuments } from "../clients/ports.ts";
import type { Clock, RandomBytes } from "../clock.ts";
import type { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";
import type { SecretHash } from "../secret.ts";
import type { Log } from "../telemetry/log.ts";
import type { ClockWatch } from "./clocks.ts";
import type { IssuedTokens } from "./signing/issued-tokens.ts";
import type { Sign } from "./signing/jws.ts";
import type { Keys } from "./signing/key-ring.ts";
import type { SuccessorInput } from "./signing/successor.ts";
import type { NewGrant, Subject, TokenReference, TokenStates } from "./token-state.ts";
import type { Confirmation } from "./tokens/access-token.ts";

/** Seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly idToken: number;
  readonly refreshToken: number;
  /** A refresh family ends this long after it began, whatever its rotations. */
  readonly refreshFamilyMax: number;
  readonly refreshReuseGrace: number;
  readonly authorizationCode: number;
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
  /** The client as its metadata document described it when the code was issued; absent for registered clients. Goes on to the grant. */
  readonly documentClient?: Client;
  /** What of that document the consent is bound to (consentFingerprint). */
  readonly clientFingerprint?: string;
}

/** The state of a code. `now` is the database's clock at the read; all times in seconds since the epoch. */
export interface CodeState extends Omit<CodeBinding, "clientFingerprint"> {
  readonly expiresAt: number;
  /** The grant that it was redeemed for; null while it is unused. */
  readonly grantId: string | null;
  readonly subject: Subject;
  readonly now: number;
}

/** The refresh family that goes with a grant. `ttl` and `maxAge` in seconds, counted by the database's clock. */
export interface NewFamily {
  readonly id: string;
  readonly tokenHash: SecretHash;
  readonly ttl: number;
  readonly maxAge: number;
  /** The key that the family is bound to. */
  readonly cnf?: Confirmation;
}

export interface AuthorizationCodes {
  /**
   * Stores a code if, at that moment, the user is enabled, the session lives, the client is enabled and a consent covers scopes and
   * resources. For the client of a metadata document the consent must not have been used for another mark, and is bound to this one
   * (consentFingerprint). One conditional statement. A code that is there already is left as it is, without a second record.
   * @returns whether it is there
   */
  issue(codeHash: SecretHash, binding: CodeBinding, ttl: number, audit: AuditEntry): Promise<boolean>;
  byHash(codeHash: SecretHash): Promise<CodeState | undefined>;
  /**
   * Consumes the code and opens grant and family with the audit record, all in one conditional statement.
   * @returns false when another redemption came first, the code has expired, or user or client is no longer enabled
   */
  redeem(codeHash: SecretHash, grant: NewGrant, family: NewFamily | undefined, audit: AuditEntry): Promise<boolean>;
}

/** A refresh family with its grant and user. `now` is the database's clock. */
export interface FamilyState
  extends Pick<CodeState, "clientId" | "subject" | "scopes" | "authTime" | "expiresAt" | "documentClient" | "now"> {
  readonly familyId: string;
  readonly grantId: string;
  readonly audience: readonly string[];
  /** Those of the audience that are no URI, and no client_id of a client that exists and is enabled. */
  readonly absentClients: readonly string[];
  /** The key that the family is bound to. */
  readonly cnf?: Confirmation;
  /** Family or grant revoked. */
  readonly revoked: boolean;
  /** The hash of the one token that may be used. */
  readonly currentHash: SecretHash;
  /** When the presented token was used up; null for the current one. */
  readonly usedAt: number | null;
}

export interface RefreshFamilies {
  /** The family that issued this token, current or used up; undefined for a value that was never issued. Coalesced. */
  holding(tokenHash: SecretHash): Promise<FamilyState | undefined>;
  /**
   * The family's current token becomes `to`, if it is still `from` and family, grant, user and client live. Coalesced with other rotations.
   * @returns whether this caller won
   */
  rotate(familyId: string, from: SecretHash, to: SecretHash, ttl: number, audit: AuditEntry): Promise<boolean>;
  /** Revokes the family and its grant. Idempotent. */
  revoke(familyId: string, audit: AuditEntry): Promise<void>;
}

export interface Grants {
  /** Opens a grant without a code (first-party sign-in), if user and session live. One statement with its audit record. */
  open(grant: NewGrant, family: NewFamily, sessionId: string, audit: AuditEntry): Promise<boolean>;
  /** Revokes a grant with its families and access tokens. Idempotent. */
  revoke(grantId: string, audit: AuditEntry): Promise<void>;
}

/** What a user has allowed a client so far. */
export interface ConsentView {
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  /** Which of the scopes at which of the resources (scopesByResource). */
  readonly allowed: Readonly<Record<string, readonly string[]>>;
}

export interface ConsentRepository {
  /**
   * @param mark of the client of a metadata document (consentFingerprint): what was allowed it under another mark is void, from this call on
   */
  of(userId: string, clientId: string, mark?: string): Promise<ConsentView | undefined>;
}

/** What an assertion was accepted for. */
export type ConsumedKind = "client_assertion" | "identity_assertion";

/** Identifiers that may be used once. */
export interface ConsumedIds {
  /**
   * Uses up an identifier that an issuer gave. One conditional statement.
   * @param ttlSeconds for which it must be remembered, counted by the database's clock
   * @param notAfter seconds since the epoch by the database's clock, after which it is not used up any more
   * @returns whether this caller was the first; a store that cannot say throws
   */
  consume(kind: ConsumedKind, issuer: string, id: string, ttlSeconds: number, notAfter?: number): Promise<boolean>;
  /** Whether it has been used up, at this moment; nothing may be granted on that. */
  isConsumed(kind: ConsumedKind, issuer: string, id: string): Promise<boolean>;
}

/** Failures of client authentication per (client, address), to slow down guessing. */
export interface AuthenticationThrottle {
  /** Reads this process's memory alone. @throws {Refusal} too_many_requests when the pair has failed too often of late */
  assertOpen(clientId: string, address: string): void;
  failed(clientId: string, address: string): Promise<void>;
}

/** A refused token request, by its audit record. */
export interface RefusedRequest {
  readonly clientId: string;
  readonly grantType: string;
  readonly reason: string;
  /** Undefined in records of releases that did not write them. */
  readonly rule: string | undefined;
  readonly error: string | undefined;
  /** Seconds since the epoch, with their fraction. */
  readonly at: number;
}

export interface AuditLog {
  /** A record that stands alone: a refusal, or an issue that writes nothing else. Coalesced and durable when it answers. */
  record(entry: AuditEntry): Promise<void>;
  /** The same for a token that needs no row of its own; moves the client's lastUsedAt along. */
  recordIssue(entry: AuditEntry): Promise<void>;
  /**
   * The record of a request that is refused before the agent that it names has proved itself. Of those with one reason, agent and network
   * the first of a minute has a record, and the others are counted into one more. A client that is no agent leaves nothing.
   */
  recordUnproven(entry: AuditEntry, address: string): Promise<void>;
  /** The refusal of a token request. */
  refusalOf(requestId: string): Promise<RefusedRequest | undefined>;
}

/** Everything that the token core needs from outside. */
export interface CorePorts {
  readonly issuer: string;
  readonly lifetimes: Lifetimes;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly keys: Keys;
  readonly clients: ClientDirectory;
  readonly apiKeys: ApiKeyDirectory;
  /** Undefined while CIMD_ENABLED is false. */
  readonly documents: ClientDocuments | undefined;
  /** What the `aud` of a client assertion may be (assertionAudiences). */
  readonly assertionAudiences: readonly string[];
  readonly remoteKeys: RemoteKeys;
  readonly consumedIds: ConsumedIds;
  readonly codes: AuthorizationCodes;
  readonly families: RefreshFamilies;
  readonly grants: Grants;
  readonly tokens: TokenStates;
  readonly delegations: Delegations;
  /** Undefined while ID_JAG_ENABLED is false. */
  readonly identityAssertions: IdentityAssertionPorts | undefined;
  readonly detachedSignatures: DetachedSignatures;
  /** Whether the token answer carries the second signature too (PQC_TOKEN_DELIVERY=self-contained). */
  readonly selfContained: boolean;
  readonly consents: ConsentRepository;
  readonly throttle: AuthenticationThrottle;
  readonly audit: AuditLog;
  /** Whether the clocks of process and database agree well enough to issue anything. */
  readonly clocks?: Pick<ClockWatch, "isTrue" | "assertTrue">;
  /** The database's clock in seconds since the epoch; undefined until it was read once. */
  readonly databaseNow?: () => number | undefined;
  /** Seconds within which an effect must be written whose call names no last moment (CallContext.notAfter). */
  readonly effectWindow: number;
  readonly log: Pick<Log, "info">;
}

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
  /** The key that the new token is bound to. */
  readonly cnf?: Confirmation;
}

export interface Delegations {
  /**
   * Stores a delegation if, at that moment, all above it lives: the grant neither revoked nor signed out of, user and clients enabled, the
   * agent not paused, no ancestor cut or revoked. One conditional statement with its audit record, coalesced. @returns whether it was
   * stored
   */
  record(delegation: NewDelegation, audit: AuditEntry): Promise<boolean>;
}

/** The subject of an identity assertion, and the identifier that it uses up. */
export interface AssertedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Only where the issuer says that it has been verified. */
  readonly verifiedEmail: string | undefined;
  /** The realm in which the user is looked up, or created. */
  readonly realmId: string;
  /** The id of the user if one is created. */
  readonly newUserId: string;
  readonly jti: string;
  /** Seconds for which the identifier is remembered. */
  readonly remember: number;
}

export interface IdentityAssertions {
  /**
   * Finds the user by (issuer, subject), else by a verified address, which is then linked, else creates one without a password; uses up
   * the identifier; opens the grant with its audit record. All in one transaction.
   * @returns the user's id
   * @throws {Refusal} invalid_grant for an identifier that was used before, and for a user or client that is disabled
   */
  accept(identity: AssertedIdentity, grant: Omit<NewGrant, "userId">, audit: AuditEntry): Promise<string>;
  /** What `accept` would find at this moment; an unknown user counts as enabled. Writes nothing. */
  outlook(identity: AssertedIdentity): Promise<{ readonly enabled: boolean; readonly used: boolean }>;
}

/** What the identity assertion grant needs. */
export interface IdentityAssertionPorts {
  /** ID_JAG_TRUSTED_ISSUERS */
  readonly trustedIssuers: readonly string[];
  /** ID_JAG_MAX_ASSERTION_LIFETIME in seconds. */
  readonly maxLifetime: number;
  /** Keys by which issuers sign assertions, found by OpenID Connect discovery. */
  readonly keys: RemoteKeys;
  readonly assertions: IdentityAssertions;
}

/** The second signature of a token, for resource servers that verify it. */
export interface DetachedSignature {
  readonly alg: "ML-DSA-65";
  readonly signature: Uint8Array;
}

/** Detached signatures by the token's `jti`. They decide nothing. */
export interface DetachedSignatures {
  /** Keeps one until the token expires (seconds since the epoch). Coalesced, durable when it answers. */
  keep(jti: string, signature: DetachedSignature, expiresAt: number): Promise<void>;
  /** Coalesced. */
  of(jti: string): Promise<DetachedSignature | undefined>;
}

/** The ports, with the tools that the core derives from them. */
export interface Core extends CorePorts {
  readonly sign: Sign;
  readonly issuedTokens: IssuedTokens;
  /** The refresh token that follows a request when parallel uses must agree on it (REFRESH_TOKEN_REUSE_GRACE). */
  readonly successor: (request: SuccessorInput) => string;
}

/** The unary methods. The core stream only carries the same calls. */
type Method = Omit<(typeof TokenCoreService)["method"], "converse">;

/** What accompanies the message of a call. */
export interface CallContext {
  /** Aborted when the caller has gone or its deadline has passed. */
  readonly signal?: AbortSignal | undefined;
  /** Seconds since the epoch by the database's clock: after it this call must have no effect, because its caller has given up. */
  readonly notAfter?: number | undefined;
}

/** The service's implementation: one function a method, from a full message to the members of the answer. */
export type TokenCoreImplementation = {
  readonly [M in keyof Method]: (
    request: MessageShape<Method[M]["input"]>,
    context: CallContext,
  ) => Promise<MessageInitShape<Method[M]["output"]>>;
};
