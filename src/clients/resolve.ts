import type { Client } from "./client.ts";
import { namesDocument } from "./document-url.ts";
import type { ClientDirectory, ClientDocuments } from "./ports.ts";

export interface ClientSources {
  readonly clients: ClientDirectory;
  /** Undefined while CIMD_ENABLED is false. */
  readonly documents: ClientDocuments | undefined;
}

/**
 * The client of an id: the one that is registered under exactly this id, else the one whose metadata document stands there, else none.
 * A registered client of such an id, disabled perhaps, thereby stands before the document.
 * @param address on whose behalf; what is fetched for it is counted
 * @throws {Refusal} invalid_client, too_many_requests; see ClientDocuments
 * @see docs/protocol.md#client-resolution
 */
export async function resolveClient(clientId: string, address: string, { clients, documents }: ClientSources): Promise<Client | undefined> {
  const registered = await clients.byClientId(clientId);
  if (registered !== undefined || documents === undefined || !namesDocument(clientId)) return registered;
  return documents.byUrl(clientId, address);
}
