import { TOKEN_EXCHANGE } from "../protocol/grants.ts";
import { type Client, isConfidential } from "./client.ts";
import type { ClientDirectory } from "./ports.ts";

/** Actors that one token may name (docs/protocol.md#limits). */
export const MAX_ACTORS = 4;

/** A client as users see it when a token may go to it. The name is the client's own claim. */
export type NamedTarget = Pick<Client, "clientId" | "name" | "isAgent"> & { readonly mayExchange: boolean };

/** Whether a client could exchange a token that it receives. Pure. @see docs/protocol.md#token-exchange-rules */
export const mayExchange = (client: Client): boolean =>
  client.enabled && client.isAgent && client.grantTypes.includes(TOKEN_EXCHANGE) && isConfidential(client);

/** The registered ones of these client_ids. */
export type NamedTargets = (clientIds: readonly string[]) => Promise<ReadonlyMap<string, NamedTarget>>;

export const namedTargets =
  ({ byClientId }: ClientDirectory): NamedTargets =>
  async (clientIds) => {
    const found = await Promise.all([...new Set(clientIds)].map(byClientId));
    return new Map(found.flatMap((client) => (client === undefined ? [] : [[client.clientId, targetOf(client)] as const])));
  };

const targetOf = (client: Client): NamedTarget => ({
  clientId: client.clientId,
  name: client.name,
  isAgent: client.isAgent,
  mayExchange: mayExchange(client),
});
