import type { Reach } from "../clients/ports.ts";
import { isRefusal, Refusal, type RefusalCode } from "../errors.ts";
import { mayChange } from "./acts.ts";
import type { ManagementPorts } from "./ports.ts";
import type { AuditNote } from "./trpc.ts";

type DeletionCall = { readonly ports: Pick<ManagementPorts, "clients">; readonly reach: Reach; readonly audit: AuditNote };

/** What became of the clients of one call, in the order in which they were named. */
export interface Deletions {
  readonly deleted: readonly string[];
  readonly refused: readonly { readonly id: string; readonly error: RefusalCode; readonly message: string }[];
}

/** @throws {Refusal} not_found, forbidden for a built-in client, conflict for one that was used or registered since */
async function deleteOne(id: string, unusedSince: number | undefined, { ports: { clients }, reach, audit }: DeletionCall): Promise<void> {
  if (await clients.delete(id, reach, audit("client.deleted"), unusedSince)) return;
  const client = await clients.byId(id, reach);
  if (client === undefined) throw new Refusal("not_found", "no_such_record", { description: "There is no such client." });
  if (!mayChange(client)) throw new Refusal("forbidden", "client_is_built_in", { description: "A built-in client cannot be deleted." });
  throw new Refusal("conflict", "client_in_use", { description: "The client was used or registered since." });
}

/**
 * Deletes clients one after the other, each in a transaction with its audit record. While the database does not answer no further one is tried.
 * @param unusedSince seconds since the epoch; a client that was used or registered since stays
 */
export async function deleteClients(ids: readonly string[], unusedSince: number | undefined, call: DeletionCall): Promise<Deletions> {
  const deleted: string[] = [];
  const refused: Deletions["refused"][number][] = [];
  let unavailable: Refusal | undefined;
  for (const id of new Set(ids)) {
    try {
      if (unavailable !== undefined) throw unavailable;
      await deleteOne(id, unusedSince, call);
      deleted.push(id);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (error.code === "temporarily_unavailable") unavailable = error;
      refused.push({ id, error: error.code, message: error.detail.description ?? error.code });
    }
  }
  return { deleted, refused };
}
