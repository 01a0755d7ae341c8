import type { AuditEntry } from "../audit.ts";
import type { Filter, Page, Part } from "../paging.ts";
import type { SecretHash } from "../random.ts";
import type { ApiKey, MintedApiKey } from "./api-key.ts";
import type { Client, ClientSettings } from "./client.ts";
import type { WorkloadIdentity, WorkloadIssuer, WorkloadTrust } from "./workload.ts";

/** Finds registered clients. Concurrent look-ups share one query; nothing is cached. */
export interface ClientDirectory {
  /** @returns undefined for an unknown client; a disabled one is returned as it is. */
  byClientId(clientId: string): Promise<Client | undefined>;
}

/** Clients that publish a metadata document at the URL that is their client_id. */
export interface ClientDocuments {
  /**
   * The client that a document describes, as published now or within the freshness of its last response.
   * @param address of the caller
   * @throws {Refusal} invalid_client for a forbidden URL, a failed fetch or an unacceptable document; too_many_requests
   */
  byUrl(url: string, address: string): Promise<Client>;
}

export interface KeptDocuments {
  /** Stores the document that this process knows, unless it did so before. Called before a code is issued. */
  keep(url: string): Promise<void>;
}

/** Keeps the documents of clients that users allowed something, for operators. */
export interface DocumentVersions {
  /**
   * Stores a document unless it is the one that was stored last. Those of clients without a consent are not stored, since callers can name
   * any URL. @returns whether it is stored
   */
  store(url: string, document: string): Promise<boolean>;
}

/** A client as it is first stored; the store sets the times. */
export type NewClient = Omit<Client, "createdAt" | "updatedAt" | "lastUsedAt">;

/** A realm limits the scopes that open registration may grant. */
export interface Realm {
  readonly id: string;
  readonly name: string;
  /** Scopes that a dynamically registered client may hold; null: the deployment's DEFAULT_DYNAMIC_REGISTRATION_SCOPES. */
  readonly dynamicRegistrationScopes: readonly string[] | null;
}

export interface Realms {
  byId(id: string): Promise<Realm | undefined>;
  default(): Promise<Realm>;
}

/** The clients that a caller can reach: those that a user owns, or all. Every query includes it. */
export type Reach = { readonly kind: "owner"; readonly userId: string } | { readonly kind: "all" };

/**
 * Records that operators manage, each named by its members `Name`. Every write includes its audit record, and is in force for every process
 * when it resolves.
 */
export interface ManagedRecords<Name extends keyof Stored, Stored, Added, Settings, ListFilter, Sort extends string> {
  /** By the first of its sorts, unless sorted otherwise. */
  list(filter: ListFilter, part: Part<Sort>): Promise<Page<Stored>>;
  one(named: Pick<Stored, Name>): Promise<Stored | undefined>;
  /** @returns undefined where another record has its name, or its realm does not exist */
  add(record: Added, audit: AuditEntry): Promise<Stored | undefined>;
  /** Changes a record. It is locked while `decide` runs, which may throw a refusal: then nothing changes. @returns undefined for an unknown one */
  change(named: Pick<Stored, Name>, decide: (record: Stored) => Settings, audit: AuditEntry): Promise<Stored | undefined>;
  /** @returns whether there was one */
  remove(named: Pick<Stored, Name>, audit: AuditEntry): Promise<boolean>;
}

/** `lastUsed`: never used counts as the longest ago. */
export const CLIENT_SORTS = ["created", "name", "lastUsed"] as const;
export type ClientSort = (typeof CLIENT_SORTS)[number];

/** Searched are name and client_id. */
export type ClientFilter = Filter<Client, "ownerId" | "origin" | "environment" | "enabled" | "isAgent" | "realmId"> & {
  /** Clients that no token was issued to since, in seconds since the epoch; those that were never used if they are older. */
  readonly unusedSince?: number | undefined;
};

/** A change to a client, decided on its current record. */
export interface ClientChange {
  readonly settings: ClientSettings;
  /** The secret is dropped with a method that does not use one, and replaced by that of a provisioning file. */
  readonly secret: "kept" | "dropped" | SecretHash;
}

/**
 * Clients as their owners and operators manage them. A client out of reach does not exist for the caller. Every write includes its audit
 * record, and is in force for every process when it resolves.
 */
export interface ManagedClients {
  /** @throws {Refusal} conflict for a client_id that is taken */
  register(client: NewClient, audit: AuditEntry): Promise<Client>;
  /** All clients that a user owns, newest first. */
  ofOwner(userId: string): Promise<readonly Client[]>;
  /** Newest first, unless sorted otherwise. */
  list(filter: ClientFilter, part: Part<ClientSort>): Promise<Page<Client>>;
  byId(id: string, reach: Reach): Promise<Client | undefined>;
  /**
   * Changes a client. The record is locked while `decide` runs. A change to what is there already is neither written nor recorded.
   * @param decide may throw a refusal; then nothing changes
   */
  change(id: string, reach: Reach, decide: (client: Client) => ClientChange, audit: AuditEntry): Promise<Client | undefined>;
  /** Gives a client a new secret, if its method uses one. The old one is invalid at once. @returns undefined for any other client */
  replaceSecret(id: string, reach: Reach, hash: SecretHash, audit: AuditEntry): Promise<Client | undefined>;
  /**
   * Deletes a client with its keys and codes, and ends its grants. Built-in clients stay, and so do those used or registered since
   * `unusedSince` (seconds since the epoch). @returns whether it is deleted
   */
  delete(id: string, reach: Reach, audit: AuditEntry, unusedSince?: number): Promise<boolean>;
}

export type LiveApiKey = { readonly keyId: string; readonly client: Client };

/** A key as it is first stored, without its secret. */
export type NewApiKey = Omit<MintedApiKey, "key"> & Pick<ApiKey, "id" | "clientId" | "name">;

export interface ApiKeys {
  /** Stores a key, if the client is in reach and in development at that moment, and has room for it. @returns undefined otherwise */
  create(key: NewApiKey, reach: Reach, audit: AuditEntry): Promise<ApiKey | undefined>;
  /** The newest 500 keys of a client, valid ones before revoked ones in the choice; newest first. */
  ofClient(clientId: string, reach: Reach): Promise<readonly ApiKey[]>;
  /** Idempotent: a revoked key keeps its time of revocation. @returns undefined for a key out of reach */
  revoke(keyId: string, clientId: string, reach: Reach, audit: AuditEntry): Promise<ApiKey | undefined>;
}

export interface ApiKeyDirectory {
  /** The key of a secret, if key, client and owner are valid. Updates `lastUsedAt`, at most once a minute. */
  byHash(hash: SecretHash): Promise<LiveApiKey | undefined>;
}

/** An identity as it is stored, with the client that it stands for. Times are seconds since the epoch. */
export interface StoredIdentity extends WorkloadIdentity {
  readonly id: string;
  readonly clientId: string;
  readonly createdAt: number;
}

export const WORKLOAD_ISSUER_SORTS = ["issuer", "created"] as const;
export type WorkloadIssuerSort = (typeof WORKLOAD_ISSUER_SORTS)[number];

export const IDENTITY_SORTS = ["subject", "created"] as const;
export type IdentitySort = (typeof IDENTITY_SORTS)[number];

/** Platforms, named by their issuer. With one, all identities on it are removed. */
export type ManagedIssuers = ManagedRecords<
  "issuer",
  WorkloadIssuer,
  WorkloadTrust,
  WorkloadTrust,
  Filter<WorkloadIssuer, "kind">,
  WorkloadIssuerSort
>;

/** Identities as operators manage them. Every write includes its audit record. */
export interface ManagedIdentities {
  /** By subject, in which a text is searched, unless sorted otherwise. */
  list(filter: Filter<StoredIdentity, "issuer" | "clientId">, part: Part<IdentitySort>): Promise<Page<StoredIdentity>>;
  /**
   * Lets an identity stand for a client.
   * @throws {Refusal} invalid_request, not_found, conflict for an identity that stands for another client
   */
  assign(clientId: string, identity: WorkloadIdentity, audit: AuditEntry): Promise<StoredIdentity>;
  /** @returns whether it existed */
  unassign(id: string, audit: AuditEntry): Promise<boolean>;
}
