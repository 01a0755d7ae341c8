import type { AuditEntry } from "../audit.ts";
import type { Client } from "./client.ts";
import type { PublishedKey } from "./key-set.ts";

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
   * too_many_requests when the URL or its host has been asked too often of late
   */
  byUrl(url: string): Promise<Client>;
}

/** The published keys of clients that named an address for them. */
export interface RemoteKeys {
  /** Keys as they were at most ten minutes ago. @throws {FetchFailure} when they cannot be had */
  at(uri: string): Promise<readonly PublishedKey[]>;
  /** The same, asked anew unless that was done within the last minute: for a key id that is not among them. @throws {FetchFailure} */
  renewed(uri: string): Promise<readonly PublishedKey[]>;
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
