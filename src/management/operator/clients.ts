import { z } from "zod";
import type { Client } from "../../clients/client.ts";
import { milliseconds } from "../../clock.ts";
import { isRefusal, Refusal, type RefusalCode } from "../../errors.ts";
import { mayChange } from "../acts.ts";
import { operatorChange } from "../client-rules.ts";
import { type ClientCall, ClientListInput, createClient, deleteClient, found, ifUnchanged, regenerateSecret } from "../clients.ts";
import {
  ById,
  identifier,
  inParts,
  moment,
  OperatorClientPatch,
  OperatorCreateClientInput,
  RecordId,
  Reference,
  secondsOf,
  updatedAt,
} from "../inputs.ts";
import type { ManagedUsers } from "../ports.ts";
import type { DocumentVersion } from "../report-ports.ts";
import { operatorProcedure, provenOperatorProcedure, router } from "../trpc.ts";
import { operatorClientView, pageView } from "../views.ts";

/** @throws {Refusal} not_found, forbidden for a built-in client, conflict for one that was used or registered since */
async function deleteOne(id: string, unusedSince: number | undefined, { ports: { clients }, reach, audit }: ClientCall): Promise<void> {
  if (await clients.delete(id, reach, audit("client.deleted"), unusedSince)) return;
  const client = await clients.byId(id, reach);
  if (client === undefined) throw new Refusal("not_found", "no_such_record", { description: "There is no such client." });
  if (!mayChange(client)) throw new Refusal("forbidden", "client_is_built_in", { description: "A built-in client cannot be deleted." });
  throw new Refusal("conflict", "client_in_use", { description: "The client was used or registered since." });
}

/**
 * Deletes clients one after the other, each in a transaction with its audit record. While the database does not answer no further one is tried.
 * @param unusedSince seconds since the epoch; a client that was used or registered since stays
 * @returns what became of the clients, in the order in which they were named
 */
async function deleteClients(ids: readonly string[], unusedSince: number | undefined, call: ClientCall) {
  const deleted: string[] = [];
  const refused: { readonly id: string; readonly error: RefusalCode; readonly message: string }[] = [];
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

type Members = Readonly<Record<string, unknown>>;

const membersOf = (document: string): Members => JSON.parse(document) as Members; // stored ones are objects

/** The members by which two documents differ, in the order of their names, without the value of a document that lacks the member. Pure. */
export function documentChanges(before: string, after: string) {
  const [old, now] = [membersOf(before), membersOf(after)];
  const members = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
  return members
    .filter((member) => JSON.stringify(old[member]) !== JSON.stringify(now[member]))
    .map((member) => ({
      member,
      ...(Object.hasOwn(old, member) && { before: old[member] }),
      ...(Object.hasOwn(now, member) && { after: now[member] }),
    }));
}

/** Versions, the newest first, each with its changes to the one before and the time at which the next one took its place. Pure. */
export const documentsView = (versions: readonly DocumentVersion[]) =>
  versions.map(({ createdAt, seenAt, ...version }, index) => {
    const [next, previous] = [versions[index - 1], versions[index + 1]];
    return {
      ...version,
      from: milliseconds(createdAt),
      /** Null for the newest. */
      until: next === undefined ? null : milliseconds(next.createdAt),
      lastFetchedAt: milliseconds(seenAt),
      changes: previous === undefined ? [] : documentChanges(previous.document, version.document),
    };
  });

const Filter = ClientListInput.extend({
  realmId: Reference.optional(),
  unusedSince: moment,
  ownerId: Reference.optional(),
  origin: z.enum(["built_in", "operator", "developer", "dynamic"]).optional(),
  isAgent: z.boolean().optional(),
});

/** Clients that one call deletes. */
const MANY = 100;
const Named = z.strictObject({ ids: z.array(RecordId).min(1).max(MANY), unusedSince: moment });

/** @throws {Refusal} invalid_request for an unknown owner */
async function assertOwnerExists(ownerId: string | null | undefined, users: Pick<ManagedUsers, "byId">): Promise<void> {
  if (ownerId == null || (await users.byId(ownerId)) !== undefined) return;
  const issues = [{ path: "ownerId", message: "is not the id of a user" }];
  throw new Refusal("invalid_request", "owner_unknown", { description: "There is no such owner.", issues });
}

/** All clients, with the attributes that only operators set. @see docs/protocol.md#clients */
export const operatorClientsRouter = router({
  list: operatorProcedure.input(Filter.prefault({})).query(async ({ ctx, input }) => {
    const [{ unusedSince, ...filter }, part] = inParts(input);
    const page = await ctx.ports.clients.list({ ...filter, unusedSince: secondsOf(unusedSince) }, part);
    return pageView("clients", page, operatorClientView);
  }),

  get: operatorProcedure
    .input(ById)
    .query(async ({ ctx, input }) => operatorClientView(found(await ctx.ports.clients.byId(input.id, ctx.reach)))),

  /** The metadata document of a client, as it was last fetched, and what changed in it. @throws {Refusal} not_found */
  document: operatorProcedure.input(z.strictObject({ clientId: identifier.nonoptional() })).query(async ({ ctx, input: { clientId } }) => {
    const versions = await ctx.ports.documentHistory.of(clientId);
    if (versions.length === 0) throw new Refusal("not_found", "document_unknown", { description: "No document of this client is stored." });
    return { clientId, versions: documentsView(versions) };
  }),

  create: operatorProcedure.input(OperatorCreateClientInput).mutation(async ({ ctx, input }) => {
    await assertOwnerExists(input.ownerId, ctx.ports.users);
    return createClient(input, "operator", operatorClientView, ctx);
  }),

  update: operatorProcedure
    .input(z.strictObject({ id: RecordId, patch: OperatorClientPatch, updatedAt }))
    .mutation(async ({ ctx, input }) => {
      await assertOwnerExists(input.patch.ownerId, ctx.ports.users);
      const decide = ifUnchanged(input.updatedAt, (client: Client) => operatorChange(client, input.patch));
      return operatorClientView(found(await ctx.ports.clients.change(input.id, ctx.reach, decide, ctx.audit("client.changed"))));
    }),

  delete: provenOperatorProcedure.input(ById).mutation(({ ctx, input }) => deleteClient(input.id, ctx)),

  /** Deletes each of the named clients as `delete` does, and those alone that were neither used nor registered since. */
  deleteMany: provenOperatorProcedure
    .input(Named)
    .mutation(({ ctx, input }) => deleteClients(input.ids, secondsOf(input.unusedSince), ctx)),

  regenerateSecret: operatorProcedure.input(ById).mutation(({ ctx, input }) => regenerateSecret(input.id, operatorClientView, ctx)),
});
