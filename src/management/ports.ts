import type { AgentPauses, DelegationBook } from "../accounts/delegations.ts";
import type { Role, User } from "../accounts/ports.ts";
import type { ScopeDescription } from "../accounts/scope-descriptions.ts";
import type { AuditActor, AuditEntry, AuditEvent } from "../audit.ts";
import type { SignedCheckpoint } from "../audit-chain/checkpoint.ts";
import type { Link, SealedRecord } from "../audit-chain/link.ts";
import type { Environment } from "../clients/client.ts";
import type { ApiKeyDirectory, ApiKeys, ClientRegistry, ManagedClients, Page, Realm, Realms } from "../clients/ports.ts";
import type { Clock, RandomBytes } from "../clock.ts";
import type { parseClientCredential } from "../protocol/client-credential.ts";
import type { parseGrant } from "../protocol/token-request.ts";
import type { ProvisionFile } from "./provision.ts";

/** A person whose access token was found good for managing. */
export interface Bearer {
  readonly userId: string;
  /** The client that the token was issued to. */
  readonly clientId: string;
  readonly role: Role;
}

export interface Bearers {
  /** Judges an access token for the management surface. @throws {Refusal} invalid_token, insufficient_scope */
  judge(accessToken: string, signal?: AbortSignal): Promise<Bearer>;
}

export interface UserFilter {
  readonly role?: Role | undefined;
  readonly enabled?: boolean | undefined;
  /** A part of the e-mail address, without regard to case. */
  readonly search?: string | undefined;
}

/** People as operators see them. */
export interface ManagedUsers {
  list(filter: UserFilter, limit: number, after?: string): Promise<Page<User>>;
  byId(id: string): Promise<User | undefined>;
  /** Disabling ends sessions and refresh families in the same transaction. @returns undefined for an unknown person */
  setEnabled(id: string, enabled: boolean, audit: AuditEntry): Promise<User | undefined>;
  setRole(id: string, role: Role, audit: AuditEntry): Promise<User | undefined>;
}

export interface ManagedRealms {
  all(): Promise<readonly Realm[]>;
  /** @param scopes null: what the deployment says. @returns undefined for an unknown realm */
  setRegistrationScopes(id: string, scopes: readonly string[] | null, audit: AuditEntry): Promise<Realm | undefined>;
}

/** What the scopes of a realm allow, in the operators' words for people. */
export interface ManagedScopes {
  all(realmId: string): Promise<readonly ScopeDescription[]>;
  /** @returns false for an unknown realm */
  set(realmId: string, scope: ScopeDescription, audit: AuditEntry): Promise<boolean>;
  /** @returns false when there were no such words */
  remove(realmId: string, name: string, audit: AuditEntry): Promise<boolean>;
}

/** A public key of a core. Times are seconds since the epoch. */
export interface PublishedKey {
  readonly kid: string;
  readonly jwk: Readonly<Record<string, unknown>>;
  readonly publishedAt: number;
  /** When a core last said that it signs with it; null while none has. */
  readonly inUseAt: number | null;
  /** Whether a core signs with it; or it is in the JWK Set and verifies, ahead of its use or after it; or neither. */
  readonly state: "signing" | "published" | "withdrawn";
}

export interface PublishedKeys {
  all(): Promise<readonly PublishedKey[]>;
}

/** A record of the trail as it was written. `at` in seconds since the epoch, with their fraction. */
export interface AuditRecord extends AuditEntry {
  readonly id: string;
  readonly at: number;
  /** Its place in the chain; null until it is sealed, which happens within a second. */
  readonly link: Link | null;
}

export interface AuditFilter {
  readonly event?: AuditEvent | undefined;
  readonly outcome?: "success" | "failure" | undefined;
  readonly actorId?: string | undefined;
  readonly userId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly grantId?: string | undefined;
  readonly jti?: string | undefined;
  readonly requestId?: string | undefined;
  readonly reason?: string | undefined;
  /** Seconds since the epoch; from this moment on, and up to but not including that one. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Where the chain stands. */
export interface AuditChainState {
  /** The last sealed record; null before the first. */
  readonly head: Link | null;
  /** Records that wait to be sealed. */
  readonly waiting: number;
  /** Up to where a signature vouches for the chain, and since when, in seconds since the epoch. */
  readonly signed: { readonly seq: number; readonly at: number } | null;
}

/** A part of the chain as it was sealed, with the checkpoints that lie in it. */
export interface AuditChainPart {
  /** What the part begins after: the first record follows from it. Undefined when there is no such record. */
  readonly start: Link | undefined;
  readonly records: readonly (Link & { readonly record: SealedRecord })[];
  readonly checkpoints: readonly SignedCheckpoint[];
}

export interface AuditTrail {
  /** Newest first. @param after the id of the last record of the page before */
  list(filter: AuditFilter, limit: number, after?: string): Promise<Page<AuditRecord>>;
  /** Sealed records in the order of the chain. @param after a number in it @returns also how far was looked, to go on from there */
  follow(filter: AuditFilter, limit: number, after: number): Promise<{ readonly items: readonly AuditRecord[]; readonly reached: number }>;
  chain(): Promise<AuditChainState>;
  /** Records and checkpoints as they were sealed. @param after a number in the chain, 0 for its beginning */
  part(limit: number, after: number): Promise<AuditChainPart>;
}

export interface ProvisionCounts {
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
}

export interface ProvisionSummary extends Readonly<Record<"realms" | "users" | "clients", ProvisionCounts>> {
  /** Only of a file that describes scopes. */
  readonly scopes?: ProvisionCounts;
}

export interface Provisioner {
  /**
   * Brings realms, users and clients to what the file says, in one transaction; deletes nothing, and changes nothing when all is so
   * already.
   * @param actor who is told to have done it; the service itself when left out
   * @throws {Refusal} invalid_request, naming every client that would contradict itself or hold a grant of no use to it, and every
   * `ownerEmail` that belongs to nobody; else a realm of `scopes` that is not there
   */
  apply(file: ProvisionFile, actor?: AuditActor): Promise<ProvisionSummary>;
}

export type RuleVerdict = "passed" | "refused" | "not_reached" | "taken_for_granted";

/** What the core says of a token request, rule by rule. */
export interface Explanation {
  readonly rules: readonly {
    readonly rule: string;
    readonly demand: string;
    readonly source: string;
    readonly verdict: RuleVerdict;
    /** Of a refusal: what is answered, and why. */
    readonly error?: string;
    readonly reason?: string;
  }[];
  readonly granted?: {
    readonly sub?: string;
    readonly scope: string;
    readonly aud: readonly string[];
    /** Seconds. */
    readonly expiresIn: number;
    readonly issuedTokenType: string;
    readonly refreshToken: boolean;
    readonly idToken: boolean;
    /** Client ids of the delegation chain, the current actor first. */
    readonly actors: readonly string[];
  };
  readonly refused?: {
    readonly clientId: string;
    readonly grantType: string;
    readonly error?: string;
    readonly reason: string;
    /** Seconds since the epoch, with their fraction. */
    readonly at: number;
  };
}

/** Asks the token core what it makes of token requests. Nothing is written. */
export interface Explainer {
  /** A request as it would be made now. */
  ofRequest(
    client: ReturnType<typeof parseClientCredential>,
    grant: ReturnType<typeof parseGrant>,
    signal?: AbortSignal,
  ): Promise<Explanation>;
  /** A request that was refused, by its id. @throws {Refusal} not_found when there is no record of it */
  ofRefusal(requestId: string, signal?: AbortSignal): Promise<Explanation>;
}

/** All that managing needs of the world. */
export interface ManagementPorts {
  readonly bearers: Bearers;
  readonly explainer: Explainer;
  readonly registry: ClientRegistry;
  readonly clients: ManagedClients;
  readonly apiKeys: ApiKeys;
  readonly apiKeyDirectory: ApiKeyDirectory;
  readonly users: ManagedUsers;
  readonly realms: Pick<Realms, "default">;
  readonly managedRealms: ManagedRealms;
  readonly managedScopes: ManagedScopes;
  readonly publishedKeys: PublishedKeys;
  readonly auditTrail: AuditTrail;
  readonly delegations: DelegationBook;
  readonly agentPauses: AgentPauses;
  readonly provisioner: Provisioner;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** DEFAULT_CLIENT_ENVIRONMENT: of clients that developers make. */
  readonly defaultEnvironment: Environment;
}
