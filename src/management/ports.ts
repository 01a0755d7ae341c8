import type { ScopeDescription, ScopeDescriptions } from "../accounts/account.ts";
import type { AccountClosing, Invitations, PasswordChanges } from "../accounts/change-ports.ts";
import type { AgentPauses, DelegationRepository } from "../accounts/delegations.ts";
import type { Passkeys, SecondFactors } from "../accounts/factors.ts";
import type { PasswordHashing } from "../accounts/password-hash.ts";
import type { Consents, MailMessage, Role, Sessions, User } from "../accounts/ports.ts";
import type { SentInvitations } from "../accounts/registration.ts";
import type { SignUpPolicy } from "../accounts/sign-up-policy.ts";
import type { AuditActor, AuditEntry } from "../audit.ts";
import type { Branding, Brandings } from "../branding/branding.ts";
import type { Environment } from "../clients/client.ts";
import type { ApiKeyDirectory, ApiKeys, ManagedClients, ManagedIdentities, ManagedIssuers, Realm, Realms } from "../clients/ports.ts";
import type { Clock } from "../clock.ts";
import type { Page, Part } from "../paging.ts";
import type { Acr } from "../protocol/authentication-context.ts";
import type { RandomBytes } from "../random.ts";
import type { ResourceMetadata } from "../resources/metadata.ts";
import type { ManagedResources } from "../resources/ports.ts";
import type { SecretBox } from "../secret-box.ts";
import type { Language } from "../texts/languages.ts";
import type { IdentityLinks, ManagedConnections, Providers } from "../upstream/ports.ts";
import type { ImportedUser, UserFilter } from "./inputs.ts";
import type { ProvisionFile } from "./provision.ts";
import type { BrandingChange } from "./record-inputs.ts";
import type {
  AuditTrail,
  ClientConsents,
  Deployment,
  DocumentHistory,
  Explainer,
  LiveAudit,
  ResourceDoctor,
  ResourceRefusals,
  ShownSettings,
} from "./report-ports.ts";

/** The user of a valid management token, and the client that it was issued to. */
export interface Bearer {
  readonly userId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly role: Role;
  /** How the user last proved who they are, and how many seconds ago, where the token says it. */
  readonly acr?: string | undefined;
  readonly proofAge?: number | undefined;
  /** The nonce for later proofs, if it replaces the one that was sent. */
  readonly dpopNonce?: string | undefined;
}

export interface Bearers {
  /**
   * Validates an access token for the management API.
   * @param dpop its proof, if it came under the scheme `DPoP`; used up
   * @throws {Refusal} invalid_token, insufficient_scope, invalid_dpop_proof, use_dpop_nonce
   */
  judge(
    accessToken: string,
    signal?: AbortSignal,
    dpop?: { readonly proof: string; readonly htm: string; readonly htu: string },
  ): Promise<Bearer>;
}

export const USER_SORTS = ["created", "email"] as const;
export type UserSort = (typeof USER_SORTS)[number];

export interface ManagedUsers {
  /** The addresses of users, by id; unknown ones are left out. */
  addresses(ids: readonly string[]): Promise<readonly Pick<User, "id" | "email">[]>;
  /** Newest first, unless sorted otherwise. */
  list(filter: UserFilter, part: Part<UserSort>): Promise<Page<User>>;
  byId(id: string): Promise<User | undefined>;
  /**
   * Disabling ends sessions and refresh families in the same transaction.
   * @returns undefined for an unknown user  @throws {Refusal} conflict for the last enabled operator, who is not to be disabled or demoted
   */
  setEnabled(id: string, enabled: boolean, audit: AuditEntry): Promise<User | undefined>;
  setRole(id: string, role: Role, audit: AuditEntry): Promise<User | undefined>;
  /** @param audit gets the realm @returns undefined for an unknown user  @throws {Refusal} invalid_request for an unknown realm */
  setRealm(id: string, realmId: string, audit: AuditEntry): Promise<User | undefined>;
}

export interface Notices {
  /** Queues a mail to a user. */
  send(userId: string, to: string, mail: MailMessage): Promise<void>;
}

export interface ImportedUsers {
  /**
   * Stores all users or none; with `dryRun` none.
   * @returns the members that have an account already, or are named twice, or are reserved: the id of a client, or of a user whose tokens may
   *   live on; empty: all are stored
   * @throws {Refusal} temporarily_unavailable when one of them has just got an account, or a realm was just removed
   */
  import(
    users: readonly (Omit<ImportedUser, "realm"> & { readonly id: string; readonly role: Role; readonly realmId?: string | undefined })[],
    audits: readonly AuditEntry[],
    dryRun: boolean,
  ): Promise<readonly { readonly index: number; readonly member: "email" | "id"; readonly isReserved: boolean }[]>;
}

export const REALM_SORTS = ["created", "name"] as const;
export type RealmSort = (typeof REALM_SORTS)[number];

export interface ManagedRealm extends Realm {
  /** The weakest sign-in that the realm accepts; null: any. */
  readonly requiredAcr: Acr | null;
  readonly branding: Branding;
}

/** Members that are left out stay as they are; those of the branding that are null are left to the deployment. */
export type RealmChange = { readonly [Member in "dynamicRegistrationScopes" | "requiredAcr"]?: ManagedRealm[Member] | undefined } & {
  readonly branding?: BrandingChange | undefined;
};

export interface ManagedRealms {
  /** Oldest first, unless sorted otherwise. */
  list(filter: { readonly search?: string | undefined }, part: Part<RealmSort>): Promise<Page<Realm>>;
  one(id: string): Promise<ManagedRealm | undefined>;
  /** @param audit gets the realm @returns undefined for a name that is taken */
  create(name: string, audit: AuditEntry): Promise<ManagedRealm | undefined>;
  /** @param audit gets the realm @returns undefined for an unknown realm */
  change(id: string, change: RealmChange, audit: AuditEntry): Promise<ManagedRealm | undefined>;
  /**
   * Enabled users of the realm who have set up no sign-in of this class, up to TOTAL_LIMIT, and one more if there are more; null where counting
   * fails.
   */
  lacking(id: string, acr: NonNullable<ManagedRealm["requiredAcr"]>): Promise<number | null>;
  /** @param audit gets the realm @returns undefined for an unknown realm */
  rename(id: string, name: string, audit: AuditEntry): Promise<Realm | "taken" | "default" | undefined>;
  /**
   * Removes a realm with its descriptions of scopes, its records of resources and the invitations to it that no longer work.
   * @param audit gets the realm @returns what keeps it; undefined for an unknown realm
   */
  remove(id: string, audit: AuditEntry): Promise<"removed" | "default" | RealmContents | undefined>;
  /** The ids of realms by name; unknown ones are left out. */
  named(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** What is in a realm, each kind up to TOTAL_LIMIT, and one more if there are more. `leaving`: users whose deletion is not complete. */
export type RealmContents = Readonly<Record<"users" | "leaving" | "connections" | "invitations" | "clients", number>>;

/** Operators' descriptions of the scopes of a realm. */
export interface ManagedScopes extends ScopeDescriptions {
  /** By name. `search`: a part of the name, without regard to case. */
  list(filter: { readonly realmId: string; readonly search?: string | undefined }, part: Part<"name">): Promise<Page<ScopeDescription>>;
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
  /** `signing`: a core signs with it. `published`: it is in the JWK Set, before or after its use. `withdrawn`: neither, by an operator or by age. */
  readonly state: "signing" | "published" | "withdrawn";
}

export interface PublishedKeys {
  all(): Promise<readonly PublishedKey[]>;
  /**
   * Withdraws a key for good, unless a core signs with it.
   * @returns the state of the key; undefined for an unknown one
   */
  withdraw(kid: string, audit: AuditEntry): Promise<"withdrawn" | "signs" | undefined>;
}

export type ProvisionCounts = Readonly<Record<"created" | "changed" | "unchanged", number>>;

/** The optional sections only for a file that has them. */
export type ProvisionSummary = Readonly<Record<"realms" | "users" | "clients", ProvisionCounts>> &
  Readonly<Partial<Record<"scopes" | "resources" | "connections" | "workloadIssuers", ProvisionCounts>>>;

/** What a provisioning file would change. Passwords and secrets have no `before` and `after`. */
export interface ProvisionDifference {
  readonly change: "created" | "changed" | "removed";
  /** The list of the file; `workloadIdentities` are those of its clients. */
  readonly section: string;
  readonly entry: string;
  /** Empty unless the entry is changed. */
  readonly members: readonly { readonly member: string; readonly before?: unknown; readonly after?: unknown }[];
}

export interface Provisioner {
  /**
   * Creates and changes realms, users, clients, scope descriptions, resources and connections in one transaction. Idempotent; deletes nothing.
   * @param actor of the audit records; default: the service itself
   * @param signal of a caller who may give up: the file is then dropped
   * @throws {Refusal} invalid_request, with an issue for each invalid client, `ownerEmail` without an account or unknown realm
   */
  apply(file: ProvisionFile, actor?: AuditActor, signal?: AbortSignal): Promise<ProvisionSummary>;
  /** What `apply` would change. Nothing is written. @throws {Refusal} as `apply` */
  preview(file: ProvisionFile, signal?: AbortSignal): Promise<readonly ProvisionDifference[]>;
}

/** Pages and a mail as a branding makes them: documents without scripts, which load nothing but the stylesheet of the pages. */
export type BrandingPreview = (
  branding: Branding,
  shown: { readonly language: Language; readonly nonce: string },
) => Promise<readonly { readonly name: string; readonly html: string }[]>;

/** What figures are summed up by. */
export const SPANS = ["hour", "day"] as const;
export type Span = (typeof SPANS)[number];

/** How often something happened within an hour or day. */
export interface Figure {
  /** When the hour or day begins, in UTC; seconds since the epoch. */
  readonly at: number;
  /**
   * Access tokens issued; requests refused; codes and refresh tokens that were replayed; refresh tokens that were used twice within seconds, as by
   * two requests of one client at once.
   */
  readonly kind: "issued" | "refused" | "replayed" | "raced";
  /** Of a token its grant type, otherwise the private reason of the refusal, or for a client the error; empty for races. */
  readonly reason: string;
  readonly count: number;
}

/** Figures of the last 48 hours or 90 days, oldest first; what did not happen is left out. Up to a second late. */
export interface Figures {
  /** @param realmId undefined: all realms */
  ofRealms(span: Span, realmId?: string): Promise<readonly Figure[]>;
  /** The sum of a user's clients. A client that registered itself is counted in its realm alone. */
  ofOwner(span: Span, userId: string): Promise<readonly Figure[]>;
}

export interface ManagementPorts {
  /** @throws {Refusal} temporarily_unavailable */
  readonly deployment: () => Promise<Deployment>;
  readonly settings: ShownSettings;
  readonly notices: Notices;
  readonly bearers: Bearers;
  readonly explainer: Explainer;
  readonly clients: ManagedClients;
  readonly apiKeys: ApiKeys;
  readonly apiKeyDirectory: ApiKeyDirectory;
  readonly users: ManagedUsers;
  readonly passkeys: Pick<Passkeys, "ofUser" | "remove">;
  readonly secondFactors: Pick<SecondFactors, "stateOf" | "remove">;
  readonly sessions: Pick<Sessions, "ofUser" | "endOne" | "endAll">;
  readonly consents: Pick<Consents, "ofUser" | "revoke">;
  readonly clientConsents: ClientConsents;
  readonly documentHistory: DocumentHistory;
  readonly passwordChanges: Pick<PasswordChanges, "issueReset">;
  readonly realms: Realms;
  readonly invitations: Invitations;
  readonly sentInvitations: SentInvitations;
  readonly closing: AccountClosing;
  readonly importedUsers: ImportedUsers;
  readonly passwords: Pick<PasswordHashing, "hash">;
  readonly managedRealms: ManagedRealms;
  readonly managedScopes: ManagedScopes;
  readonly managedResources: ManagedResources;
  /** Fetches the metadata of a resource; otherwise the reason why it is not used, as a fixed word. */
  readonly resourceMetadata: (resource: string) => Promise<ResourceMetadata | string>;
  readonly resourceRefusals: ResourceRefusals;
  readonly resourceDoctor: ResourceDoctor;
  readonly managedConnections: ManagedConnections;
  readonly workloadIssuers: ManagedIssuers;
  readonly workloadIdentities: ManagedIdentities;
  readonly identityLinks: Pick<IdentityLinks, "ofUser">;
  /** Loads the library at its first use. */
  readonly providers: () => Promise<Pick<Providers, "test">>;
  readonly box: SecretBox;
  readonly issuer: string;
  readonly brandings: Brandings;
  /** BRAND_*: what applies where a realm leaves something open. */
  readonly deploymentBranding: Branding;
  readonly brandingPreview: BrandingPreview;
  readonly publishedKeys: PublishedKeys;
  readonly auditTrail: AuditTrail;
  readonly figures: Figures;
  readonly liveAudit: LiveAudit;
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
