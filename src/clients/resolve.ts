import type { Client } from "./client.ts";
import { namesDocument } from "./document-url.ts";
import type { ClientDirectory, ClientDocuments } from "./ports.ts";

/** `documents` is undefined while CIMD_ENABLED is false. */
export type ClientSources = { readonly clients: ClientDirectory; readonly documents: ClientDocuments | undefined };

/**
 * Finds a client: the registered one, even if disabled, else the one whose metadata document is at the client_id.
 * @param address of the caller, whose fetches are counted
 * @throws {Refusal} invalid_client, too_many_requests @see docs/protocol.md#client-resolution
 */
export async function resolveClient(clientId: string, address: string, { clients, documents }: ClientSources): Promise<Client | undefined> {
  const registered = await clients.byClientId(clientId);
  if (registered !== undefined || documents === undefined || !namesDocument(clientId)) return registered;
  return documents.byUrl(clientId, address);
}
