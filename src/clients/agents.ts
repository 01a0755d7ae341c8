import { TOKEN_EXCHANGE } from "../protocol/grants.ts";
import { type Client, isConfidential } from "./client.ts";
import type { ClientDirectory } from "./ports.ts";

/** Actors that one token may name (docs/protocol.md#limits). */
export const MAX_ACTORS = 4;

/** A client as a person is told of it to whom a token may go. The name is the client's own word. */
export interface NamedTarget {
  readonly clientId: string;
  readonly name: string;
  readonly isAgent: boolean;
  /** Whether it could exchange a token that it is handed. */
  readonly mayExchange: boolean;
}

/** Whether a client could get a token of its own for one that it is handed. Pure. @see docs/protocol.md#token-exchange-rules */
export const mayExchange = (client: Client): boolean =>
  client.enabled && client.isAgent && client.grantTypes.includes(TOKEN_EXCHANGE) && isConfidential(client);

/** Those of these client_ids that are registered, by client_id. */
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
