import type { AuditEntry } from "../audit.ts";
import type { SecretHash } from "../secret.ts";
import type { ApiKey } from "./api-key.ts";
import type { Client, ClientOrigin, ClientSettings, Environment } from "./client.ts";

/** Finds registered clients. Look-ups that arrive together are answered by one query; nothing is cached. */
export interface ClientDirectory {
  /** @returns undefined for an unknown client; a disabled one is returned as it is. */
  byClientId(clientId: string): Promise<Client | undefined>;
}

/** Clients that publish a metadata document about themselves, under the URL that is their client_id. */
export interface ClientDocuments {
  /**
   * The client that the document describes, as it is published now or was within the time for which it said to stay good.
   * @throws {Refusal} invalid_client for an URL that may not be asked, a document that cannot be had, or one that is not acceptable;
   * too_many_requests when the URL or its host has been asked too often of late, or too much has been fetched for one address
   * @param address on whose behalf
   */
  byUrl(url: string, address: string): Promise<Client>;
}

/** A client as it is first stored; the store sets the times. */
export type NewClient = Omit<Client, "createdAt" | "updatedAt" | "lastUsedAt">;

/** Writes clients. Every method writes its audit record in the same transaction. */
export interface ClientRegistry {
  /** @throws {Refusal} conflict when the client_id is taken. */
  register(client: NewClient, audit: AuditEntry): Promise<Client>;
}

/** Realms bound what open registration may hand out. */
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

/** Whose clients a caller can reach: those that a person owns, or all of them. It is part of every query. */
export type Reach = { readonly kind: "owner"; readonly userId: string } | { readonly kind: "all" };

/** A part of a list, newest first. `next` is handed back to get what follows; null at the end. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

export interface ClientFilter {
  readonly ownerId?: string | undefined;
  readonly origin?: ClientOrigin | undefined;
  readonly environment?: Environment | undefined;
  readonly enabled?: boolean | undefined;
  readonly isAgent?: boolean | undefined;
  /** A part of the name or of the client_id, without regard to case. */
  readonly search?: string | undefined;
}

/** A change to a client as it was decided on its current record. */
export interface ClientChange {
  readonly settings: ClientSettings;
  /** What becomes of its secret: it ends where the method has no use for one, and a provisioning file may bring another. */
  readonly secret: "kept" | "dropped" | SecretHash;
}

/**
 * The clients as their owners and operators manage them. A client out of reach is as one that does not exist. Every write has its audit
 * record in its own transaction, and is in force for every process when it has answered.
 */
export interface ManagedClients {
  /** All clients that a person owns, newest first. */
  ofOwner(userId: string): Promise<readonly Client[]>;
  /** @param after `next` of the page before */
  list(filter: ClientFilter, limit: number, after?: string): Promise<Page<Client>>;
  byId(id: string, reach: Reach): Promise<Client | undefined>;
  /**
   * Decides on the record while nobody else can change it, and stores what was decided.
   * @param decide may refuse, and then nothing has changed
   */
  change(id: string, reach: Reach, decide: (client: Client) => ClientChange, audit: AuditEntry): Promise<Client | undefined>;
  /**
   * Gives a client a new secret, if its method has one; the old one is invalid from then on.
   * @returns undefined when it is not such a client
   */
  replaceSecret(id: string, reach: Reach, hash: SecretHash, audit: AuditEntry): Promise<Client | undefined>;
  /**
   * Deletes a client with its keys and codes, and ends its grants and refresh families. Built-in clients stay.
   * @returns whether it was there
   */
  delete(id: string, reach: Reach, audit: AuditEntry): Promise<boolean>;
}

/** A static API key that is good at this moment, and the client that it stands for. */
export interface LiveApiKey {
  readonly keyId: string;
  readonly client: Client;
}

export interface ApiKeys {
  /** Stores a key, if the client is in reach and in development at that moment. @returns undefined otherwise */
  create(
    key: {
      readonly id: string;
      readonly clientId: string;
      readonly name: string;
      readonly prefix: string;
      readonly last4: string;
      readonly hash: SecretHash;
    },
    reach: Reach,
    audit: AuditEntry,
  ): Promise<ApiKey | undefined>;
  /** All keys of a client, revoked ones too, newest first. */
  ofClient(clientId: string, reach: Reach): Promise<readonly ApiKey[]>;
  /** Idempotent: a key that is revoked already keeps its time. @returns undefined for a key that is out of reach */
  revoke(keyId: string, clientId: string, reach: Reach, audit: AuditEntry): Promise<ApiKey | undefined>;
}

export interface ApiKeyDirectory {
  /**
   * The key behind a secret, if it and its client may be used now: not revoked, the client enabled and in development, its owner not
   * disabled. Moves `lastUsedAt`, at most once a minute.
   */
  byHash(hash: SecretHash): Promise<LiveApiKey | undefined>;
}
