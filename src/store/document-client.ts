import type { Client } from "../clients/client.ts";
import type { Json } from "./sql.ts";

/** A client as it is kept beside a code or grant that goes back to a metadata document. It has no secret, so none is kept. */
export type KeptClient = Omit<Client, "secretHash">;

export function keptClient(client: Client | undefined): Json {
  if (client === undefined) return undefined;
  const { secretHash, ...kept } = client;
  return kept as Json; // its keys came out of JSON, all else is text and numbers
}

/** The member of a state that holds such a client, where there is one. */
export const documentClientOf = (kept: KeptClient | null): { readonly documentClient?: Client } =>
  kept === null ? {} : { documentClient: { ...kept, secretHash: null } };

/**
 * Whether a client may go on: a registered one as its row says, one without a row if its document was good when it was granted something.
 * @param clientId and @param kept are SQL expressions
 */
export const clientStands = (clientId: string, kept: string): string =>
  `coalesce((select clients.enabled from clients where clients.client_id = ${clientId}), ${kept} is not null)`;
