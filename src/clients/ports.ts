import type { AuditEntry } from "../audit.ts";
import type { Client } from "./client.ts";

/** Finds registered clients. Look-ups that arrive together are answered by one query; nothing is cached. */
export interface ClientDirectory {
  /** @returns undefined for an unknown client; a disabled one is returned as it is. */
  byClientId(clientId: string): Promise<Client | undefined>;
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
