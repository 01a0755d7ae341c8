import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { AuditEntry } from "../audit.ts";
import type { ApiKeyDirectory, ClientDirectory, ClientDocuments } from "../clients/ports.ts";
import type { RemoteKeys } from "../clients/public-keys.ts";
import type { Clock } from "../clock.ts";
import type { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";
import type { RandomBytes, SecretHash } from "../random.ts";
import type { ResourceDiscovery } from "../resources/discovery.ts";
import type { ResourceDirectory } from "../resources/ports.ts";
import type { Log } from "../telemetry/log.ts";
import type { DatabaseClock } from "./clocks.ts";
import type { IssuedTokens } from "./signing/jws.ts";
import type { Keys } from "./signing/key-ring.ts";
import type { SuccessorInput } from "./signing/keys.ts";
import type {
  AuthorizationCodes,
  CodeState,
  Confirmation,
  DeviceRequests,
  IdentityAssertionPorts,
  NewFamily,
  NewGrant,
  TokenReference,
  TokenStates,
} from "./stored-grants.ts";
import type { WorkloadPorts } from "./workload/rules.ts";

/** In seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly idToken: number;
  readonly refreshToken: number;
  /** Counted from the first token of the family. */
  readonly refreshFamilyMax: number;
  readonly refreshReuseGrace: number;
  readonly authorizationCode: number;
}

/** A refresh family with its grant and user. `now` is the database's clock. */
export interface FamilyState
  extends Pick<
    CodeState,
    | "clientId"
    | "subject"
    | "agentPaused"
    | "scopes"
    | "authTime"
    | "authentication"
    | "expiresAt"
    | "documentClient"
    | "resourceTerms"
    | "now"
  > {
  readonly familyId: string;
  readonly grantId: string;
  readonly audience: readonly string[];
  /** Clients in the audience that are disabled or deleted. */
  readonly absentClients: readonly string[];
  readonly cnf: Confirmation | null;
  /** Whether family or grant is revoked. */
  readonly revoked: boolean;
  /** Hash of the one token that may be used. */
  readonly currentHash: SecretHash;
  /** Seconds since the epoch at which the presented token was used up; null for the current one. */
  readonly usedAt: number | null;
}

/** The refresh token that takes the place of another one. */
export interface NextRefreshToken {
  readonly hash: SecretHash;
  /** Seconds until the family expires. */
  readonly ttl: number;
  /** The key that the family is bound to from now on, if it is bound to none. */
  readonly cnf?: Confirmation | undefined;
}

export interface RefreshFamilies {
  /** The family of a current or used token; undefined for a value that was never issued. Coalesced. */
  holding(tokenHash: SecretHash): Promise<FamilyState | undefined>;
  /**
   * Makes `to` the current token, and binds the family to its key, if `from` still is the current one and family, grant, user and client are
   * live. Coalesced with other rotations.
   * @returns whether this caller won
   */
  rotate(familyId: string, from: SecretHash, to: NextRefreshToken, audit: AuditEntry): Promise<boolean>;
  /** Leaves the current token in place and extends the family, under the same conditions. Any number of concurrent uses succeed. Coalesced. */
  keep(familyId: string, current: SecretHash, ttl: number, audit: AuditEntry): Promise<boolean>;
  /** Revokes the family and its grant. Idempotent. */
  revoke(familyId: string, audit: AuditEntry): Promise<void>;
}

export interface Grants {
  /**
   * Opens a grant without a code (first-party sign-in), with its audit record. Without a refresh family the session ends at once: it was
   * started for this grant alone. @returns whether user and session are live
   */
  open(grant: NewGrant, family: NewFamily | undefined, sessionId: string, audit: AuditEntry): Promise<boolean>;
  /** Revokes a grant with its families and access tokens. Idempotent. */
  revoke(grantId: string, audit: AuditEntry): Promise<void>;
}

export interface ConsentView {
  readonly scopes: readonly string[];
  /** The allowed scopes by resource (scopesByResource). */
  readonly allowed: Readonly<Record<string, readonly string[]>>;
}

export interface ConsentRepository {
  /** @param mark consentFingerprint of a metadata document's client; this call voids what was allowed under another */
  of(userId: string, clientId: string, mark?: string): Promise<ConsentView | undefined>;
}

/** Authorization requests that clients pushed, as queries. Times by the database's clock. */
export interface PushedRequests {
  /** @param ttl seconds */
  put(hash: SecretHash, clientId: string, query: string, ttl: number): Promise<void>;
  /**
   * Opens a request of this client in a browser, in one conditional statement, unless it was opened in another one, has led to a code or
   * has expired. An opened request lives for `ttl` seconds from its push.
   * @returns its query
   */
  open(hash: SecretHash, clientId: string, browser: string, ttl: number): Promise<string | undefined>;
  /** The query of an opened request of this client that has not expired, and whether it has led to a code. */
  opened(hash: SecretHash, clientId: string): Promise<{ readonly query: string; readonly isUsed: boolean } | undefined>;
}

export type ConsumedKind = "client_assertion" | "identity_assertion" | "logout_token" | "dpop_proof" | "workload_token";

/** Identifiers that may be used once. */
export interface ConsumedIds {
  /**
   * Uses up an identifier of an issuer, in one conditional statement.
   * @param ttlSeconds for which it is remembered, by the database's clock
   * @param notAfter seconds since the epoch by the database's clock, after which it is no longer used up
   * @returns whether this caller was the first; throws when the store does not know
   */
  consume(kind: ConsumedKind, issuer: string, id: string, ttlSeconds: number, notAfter?: number): Promise<boolean>;
  /** Whether the identifier is used up now. Nothing may be granted on that. */
  isConsumed(kind: ConsumedKind, issuer: string, id: string): Promise<boolean>;
}

/** Counts failures of client authentication per (client, address), to slow down guessing. */
export interface AuthenticationThrottle {
  /** Reads memory only. @throws {Refusal} too_many_requests when the pair has failed too often lately */
  assertOpen(clientId: string, address: string): void;
  failed(clientId: string, address: string): Promise<void>;
}

/** A refused token request, from its audit record. Earlier releases recorded neither rule nor error. */
export interface RefusedRequest {
  readonly clientId: string;
  readonly grantType: string;
  readonly reason: string;
  readonly rule: string | null;
  readonly error: string | null;
  readonly workloadIssuer: string | null;
  /** Seconds since the epoch, with their fraction. */
  readonly at: number;
}

export interface AuditLog {
  /** Writes a record that belongs to no other write. Coalesced, and durable when the promise resolves. */
  record(entry: AuditEntry): Promise<void>;
  /** The same for a token without a row. */
  recordIssue(entry: AuditEntry): Promise<void>;
  /**
   * Records a refusal of an agent that has not authenticated. Per reason, agent, network and minute, the first has its own record and the
   * others share one with their count. Nothing is recorded for a client that is not an agent.
   */
  recordUnproven(entry: AuditEntry, address: string): Promise<void>;
  refusalOf(requestId: string): Promise<RefusedRequest | undefined>;
}

/** Nonces that proofs must contain. @see RFC 9449 §8 */
export interface ProofNonces {
  /**
   * @param now seconds since the epoch
   * @returns the nonce for later proofs, if another one replaces this one soon
   * @throws {Refusal} use_dpop_nonce, with a nonce, for any other value
   */
  assertFresh(nonce: unknown, now: number): string | undefined;
}

/** Which clients are notified of the end of which session. */
export interface LogoutSubscriptions {
  /** Notes that a client gets tokens of a session, before it does. A session that has just ended is notified of at once. */
  subscribe(sessionId: string, clientId: string): Promise<void>;
}

export interface CorePorts {
  readonly issuer: string;
  readonly lifetimes: Lifetimes;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly keys: Keys;
  readonly clients: ClientDirectory;
  readonly apiKeys: ApiKeyDirectory;
  readonly resources: ResourceDirectory;
  readonly requireKnownResources: boolean;
  /** Undefined outside of development. */
  readonly resourceDiscovery: ResourceDiscovery | undefined;
  /** Undefined while CIMD_ENABLED is false. */
  readonly documents: ClientDocuments | undefined;
  /** Accepted values of `aud` in client assertions. */
  readonly assertionAudiences: readonly string[];
  readonly remoteKeys: RemoteKeys;
  /** Keys of metadata documents, which anybody can publish: a silent host that they name delays no other keys. */
  readonly documentKeys: RemoteKeys;
  readonly workloads: WorkloadPorts;
  readonly consumedIds: ConsumedIds;
  /** Undefined while DPOP_NONCE is false. */
  readonly proofNonces?: ProofNonces | undefined;
  readonly codes: AuthorizationCodes;
  readonly logoutSubscriptions: LogoutSubscriptions;
  readonly devices: DeviceRequests;
  readonly pushedRequests: PushedRequests;
  /** REQUIRE_PAR */
  readonly requirePushedRequests: boolean;
  readonly families: RefreshFamilies;
  readonly grants: Grants;
  readonly tokens: TokenStates;
  readonly delegations: Delegations;
  /** Undefined while ID_JAG_ENABLED is false. */
  readonly identityAssertions: IdentityAssertionPorts | undefined;
  readonly detachedSignatures: DetachedSignatures;
  /** Whether the token answer contains the second signature (PQC_TOKEN_DELIVERY=self-contained). */
  readonly selfContained: boolean;
  readonly consents: ConsentRepository;
  readonly throttle: AuthenticationThrottle;
  readonly audit: AuditLog;
  readonly clocks?: Pick<DatabaseClock, "now" | "isTrue" | "assertTrue">;
  /** Seconds within which an effect must be written if its call has no `notAfter`. */
  readonly effectWindow: number;
  readonly log: Pick<Log, "info">;
}

/** An exchange that is granted. Times in seconds since the epoch. */
export interface NewDelegation {
  readonly id: string;
  readonly kind: "access_token" | "id_jag";
  readonly jti: string;
  /** The token that was exchanged. */
  readonly parent: TokenReference;
  /** The grant at the root. */
  readonly grantId: string;
  readonly userId: string;
  /** client_id of the agent that receives the new token. */
  readonly actor: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly expiresAt: number;
  readonly cnf?: Confirmation;
}

export interface Delegations {
  /**
   * Stores a delegation with its audit record, in one conditional statement: the grant is neither revoked nor signed out of, user and
   * clients are enabled, the agent is not paused, no ancestor is cut or revoked. Coalesced.
   * @returns whether it was stored
   */
  record(delegation: NewDelegation, audit: AuditEntry): Promise<boolean>;
}

/** The second signature of a token, for resource servers that verify it. */
export type DetachedSignature = { readonly alg: "ML-DSA-65"; readonly signature: Uint8Array };

/** Detached signatures by the token's `jti`. No decision depends on them. */
export interface DetachedSignatures {
  /** Keeps a signature until `expiresAt` (seconds since the epoch). Coalesced, and durable when the promise resolves. */
  keep(jti: string, signature: DetachedSignature, expiresAt: number): Promise<void>;
  /** Coalesced. */
  of(jti: string): Promise<DetachedSignature | undefined>;
}

/** The ports, and what the core derives from them. */
export interface Core extends CorePorts {
  readonly issuedTokens: IssuedTokens;
  /**
   * The refresh token that follows a request when parallel uses must agree on it (REFRESH_TOKEN_REUSE_GRACE).
   * @param current hash of the family's current token: while signing keys change, the first use may have derived it from another one
   */
  readonly successor: (request: SuccessorInput, current: SecretHash | undefined) => string;
}

/** The unary methods. The core stream only carries the same calls. */
type Method = Omit<(typeof TokenCoreService)["method"], "converse">;

/** What accompanies the message of a call. */
export interface CallContext {
  /** Aborted when the caller has left or its deadline has passed. */
  readonly signal?: AbortSignal | undefined;
  /** Seconds since the epoch by the database's clock, after which the call must have no effect: its caller has given up. */
  readonly notAfter?: number | undefined;
  /** W3C trace context of the caller's span, in another process; undefined when the call is not traced. */
  readonly traceparent?: string | undefined;
}

/** One function per method, from a full message to the members of the answer. */
export type TokenCoreImplementation = {
  readonly [M in keyof Method]: (
    request: MessageShape<Method[M]["input"]>,
    context: CallContext,
  ) => Promise<MessageInitShape<Method[M]["output"]>>;
};
