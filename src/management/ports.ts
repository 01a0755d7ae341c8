import type { AccountClosing } from "../accounts/account.ts";
import type { AgentPauses, DelegationRepository } from "../accounts/delegations.ts";
import type { Invitations } from "../accounts/invitations.ts";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import type { Role, User } from "../accounts/ports.ts";
import type { ScopeDescription } from "../accounts/scope-descriptions.ts";
import type { SignUpPolicy } from "../accounts/sign-up-policy.ts";
import type { AuditActor, AuditEntry } from "../audit.ts";
import type { SignedCheckpoint } from "../audit-chain/checkpoint.ts";
import type { Link, SealedRecord } from "../audit-chain/link.ts";
import type { Environment } from "../clients/client.ts";
import type { ApiKeyDirectory, ApiKeys, ClientRegistry, ManagedClients, Page, Realm, Realms } from "../clients/ports.ts";
import type { Clock } from "../clock.ts";
import type { parseAuthorizationRequest } from "../protocol/authorization-request.ts";
import type { parseClientCredential } from "../protocol/form.ts";
import type { parseGrant } from "../protocol/grants.ts";
import type { RandomBytes } from "../random.ts";
import type { ResourceMetadata } from "../resources/metadata.ts";
import type { ManagedResources } from "../resources/ports.ts";
import type { ImportedUser } from "./import-users.ts";
import type { ProvisionFile } from "./provision.ts";

/** The user of a valid management token, and the client that it was issued to. */
export type Bearer = { readonly userId: string; readonly clientId: string; readonly role: Role };

export interface Bearers {
  /** Validates an access token for the management API. @throws {Refusal} invalid_token, insufficient_scope */
  judge(accessToken: string, signal?: AbortSignal): Promise<Bearer>;
}

export interface UserFilter {
  readonly role?: Role | undefined;
  readonly enabled?: boolean | undefined;
  /** Part of the e-mail address, case-insensitive. */
  readonly search?: string | undefined;
}

export interface ManagedUsers {
  list(filter: UserFilter, limit: number, after?: string): Promise<Page<User>>;
  byId(id: string): Promise<User | undefined>;
  /** Disabling ends sessions and refresh families in the same transaction. @returns undefined for an unknown user */
  setEnabled(id: string, enabled: boolean, audit: AuditEntry): Promise<User | undefined>;
  setRole(id: string, role: Role, audit: AuditEntry): Promise<User | undefined>;
}

export interface ImportedUsers {
  /** Stores all users or none. @returns the indexes of users whose address has an account or is named twice; empty: all are stored */
  import(
    users: readonly (ImportedUser & { readonly id: string; readonly role: Role })[],
    audits: readonly AuditEntry[],
  ): Promise<readonly number[]>;
}

export interface ManagedRealms {
  all(): Promise<readonly Realm[]>;
  /** @param scopes null: DEFAULT_DYNAMIC_REGISTRATION_SCOPES @returns undefined for an unknown realm */
  setRegistrationScopes(id: string, scopes: readonly string[] | null, audit: AuditEntry): Promise<Realm | undefined>;
}

/** Operators' descriptions of the scopes of a realm. */
export interface ManagedScopes {
  all(realmId: string): Promise<readonly ScopeDescription[]>;
  /** @returns false for an unknown realm */
  set(realmId: string, scope: ScopeDescription, audit: AuditEntry): Promise<boolean>;
  /** @returns false when there was none */
  remove(realmId: string, name: string, audit: AuditEntry): Promise<boolean>;
}

/** A public key of a core. Times are seconds since the epoch. */
export interface PublishedKey {
  readonly kid: string;
  readonly jwk: Readonly<Record<string, unknown>>;
  readonly publishedAt: number;
  /** When a core last reported that it signs with this key; null: never. */
  readonly inUseAt: number | null;
  /** `signing`: a core signs with it. `published`: it is in the JWK Set, before or after its use. `withdrawn`: neither. */
  readonly state: "signing" | "published" | "withdrawn";
}

export interface PublishedKeys {
  all(): Promise<readonly PublishedKey[]>;
}

export type ProvisionCounts = Readonly<Record<"created" | "changed" | "unchanged", number>>;

export interface ProvisionSummary extends Readonly<Record<"realms" | "users" | "clients", ProvisionCounts>> {
  /** Only for a file that describes scopes. */
  readonly scopes?: ProvisionCounts;
  /** Only for a file with resources. */
  readonly resources?: ProvisionCounts;
}

export interface Provisioner {
  /**
   * Creates and changes realms, users, clients, scope descriptions and resources in one transaction. Idempotent; deletes nothing.
   * @param actor of the audit records; default: the service itself
   * @throws {Refusal} invalid_request, with an issue for each invalid client, `ownerEmail` without an account or unknown realm
   */
  apply(file: ProvisionFile, actor?: AuditActor): Promise<ProvisionSummary>;
}

/** How the process that answers is configured and used. It names no secret. */
export interface Deployment {
  readonly issuer: string;
  readonly environment: "development" | "test" | "production";
  readonly signUp: SignUpPolicy["mode"];
  readonly trustProxy: boolean;
  /** Since the start of the process. */
  readonly callers: {
    readonly requests: number;
    /** Whether all requests came from the same address. */
    readonly oneAddress: boolean;
    /** Requests with headers of a proxy that TRUST_PROXY does not trust. */
    readonly proxyHeadersIgnored: number;
  };
  readonly mail: "smtp" | "files";
  readonly redis: boolean;
  /** `settings`: those of PostgreSQL that decide on durability, by name. */
  readonly database: { readonly kind: "embedded" | "postgresql"; readonly settings: Readonly<Record<string, string>> };
}

export interface ManagementPorts {
  /** @throws {Refusal} temporarily_unavailable */
  readonly deployment: () => Promise<Deployment>;
  readonly bearers: Bearers;
  readonly explainer: Explainer;
  readonly registry: ClientRegistry;
  readonly clients: ManagedClients;
  readonly apiKeys: ApiKeys;
  readonly apiKeyDirectory: ApiKeyDirectory;
  readonly users: ManagedUsers;
  readonly realms: Pick<Realms, "default">;
  readonly invitations: Invitations;
  readonly closing: AccountClosing;
  readonly importedUsers: ImportedUsers;
  readonly passwords: Pick<PasswordHashing, "hash">;
  readonly managedRealms: ManagedRealms;
  readonly managedScopes: ManagedScopes;
  readonly managedResources: ManagedResources;
  /** Fetches the metadata of a resource; otherwise the reason why it is not used, as a fixed word. */
  readonly resourceMetadata: (resource: string) => Promise<ResourceMetadata | string>;
  readonly issuer: string;
  readonly publishedKeys: PublishedKeys;
  readonly auditTrail: AuditTrail;
  readonly delegations: DelegationRepository;
  readonly agentPauses: AgentPauses;
  readonly provisioner: Provisioner;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** DEFAULT_CLIENT_ENVIRONMENT: the environment of clients that developers create. */
  readonly defaultEnvironment: Environment;
  /** Who may open an account (SIGN_UP) and make clients (DEVELOPERS). */
  readonly signUpPolicy: SignUpPolicy;
}

/** `at`: seconds since the epoch, with their fraction. `link`: null until the record is sealed, within a second. */
export type AuditRecord = AuditEntry & { readonly id: string; readonly at: number; readonly link: Link | null };

type FilteredMember = "event" | "outcome" | "reason" | "userId" | "clientId" | "grantId" | "jti" | "requestId";

export interface AuditFilter extends Readonly<{ [Member in FilteredMember]?: AuditEntry[Member] | undefined }> {
  readonly actorId?: string | undefined;
  /** Seconds since the epoch; `since` is inclusive, `until` exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface AuditChainState {
  /** Null before the first record is sealed. */
  readonly head: Link | null;
  /** Records that wait to be sealed. */
  readonly waiting: number;
  /** The last signed record, and when it was signed, in seconds since the epoch. */
  readonly signed: { readonly seq: number; readonly at: number } | null;
}

/** A part of the chain, with its checkpoints. */
export interface AuditChainPart {
  /** The link before the first record; undefined when the chain is shorter. */
  readonly start: Link | undefined;
  readonly records: readonly (Link & { readonly record: SealedRecord })[];
  readonly checkpoints: readonly SignedCheckpoint[];
}

export interface AuditTrail {
  /** Newest first. @param after id of the last record of the page before */
  list(filter: AuditFilter, limit: number, after?: string): Promise<Page<AuditRecord>>;
  /** Sealed records in the order of the chain. @param after a number in it @returns also `reached`, the next call's `after` */
  follow(filter: AuditFilter, limit: number, after: number): Promise<{ readonly items: readonly AuditRecord[]; readonly reached: number }>;
  chain(): Promise<AuditChainState>;
  /** @param after a number in the chain, 0 for its start */
  part(limit: number, after: number): Promise<AuditChainPart>;
}

export type RuleVerdict = "passed" | "refused" | "not_reached" | "taken_for_granted";

/** How the core evaluates a token request, rule by rule. */
export interface Explanation {
  readonly rules: readonly {
    readonly rule: string;
    readonly demand: string;
    readonly source: string;
    readonly verdict: RuleVerdict;
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
  /** Requested scopes that the client may not have, of an authorization request. */
  readonly droppedScope?: readonly string[];
  readonly refused?: {
    readonly clientId: string;
    readonly grantType: string;
    readonly error?: string;
    readonly reason: string;
    /** Seconds since the epoch, with their fraction. */
    readonly at: number;
  };
}

/** Evaluates requests without writing anything. */
export interface Explainer {
  /** A token request, evaluated now. */
  ofRequest(
    client: ReturnType<typeof parseClientCredential>,
    grant: ReturnType<typeof parseGrant>,
    signal?: AbortSignal,
  ): Promise<Explanation>;
  /** An authorization request, as if the user allowed it. */
  ofAuthorization(request: ReturnType<typeof parseAuthorizationRequest>, address: string, signal?: AbortSignal): Promise<Explanation>;
  /** A refused request, by its id. @throws {Refusal} not_found when there is no record of it */
  ofRefusal(requestId: string, signal?: AbortSignal): Promise<Explanation>;
}
