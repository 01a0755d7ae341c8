import { type Client, mayExchange, type NamedTarget } from "./client.ts";
import { namesDocument } from "./document-url.ts";
import type { ClientDirectory, ClientDocuments } from "./ports.ts";

/** The registered ones of these client_ids. */
export type NamedTargets = (clientIds: readonly string[]) => Promise<ReadonlyMap<string, NamedTarget>>;

export const namedTargets =
  ({ byClientId }: ClientDirectory): NamedTargets =>
  async (clientIds) => {
    const targets = new Map<string, NamedTarget>();
    for (const client of await Promise.all([...new Set(clientIds)].map(byClientId))) {
      if (client === undefined) continue;
      const { clientId, name, isAgent } = client;
      targets.set(clientId, { clientId, name, isAgent, mayExchange: mayExchange(client) });
    }
    return targets;
  };

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
