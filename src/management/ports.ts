import type { AgentPauses, DelegationRepository } from "../accounts/delegations.ts";
import type { Role, User } from "../accounts/ports.ts";
import type { ScopeDescription } from "../accounts/scope-descriptions.ts";
import type { AuditActor, AuditEntry } from "../audit.ts";
import type { Environment } from "../clients/client.ts";
import type { ApiKeyDirectory, ApiKeys, ClientRegistry, ManagedClients, Page, Realm, Realms } from "../clients/ports.ts";
import type { Clock, RandomBytes } from "../clock.ts";
import type { AuditTrail } from "./audit-ports.ts";
import type { Explainer } from "./explain-ports.ts";
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
   * `ownerEmail` that belongs to no user; else a realm of `scopes` that is not there
   */
  apply(file: ProvisionFile, actor?: AuditActor): Promise<ProvisionSummary>;
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
  readonly delegations: DelegationRepository;
  readonly agentPauses: AgentPauses;
  readonly provisioner: Provisioner;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** DEFAULT_CLIENT_ENVIRONMENT: of clients that developers make. */
  readonly defaultEnvironment: Environment;
}
