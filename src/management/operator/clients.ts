import { z } from "zod";
import { type Client, ENVIRONMENTS } from "../../clients/client.ts";
import { CLIENT_SORTS, type ClientSort } from "../../clients/ports.ts";
import { Refusal } from "../../errors.ts";
import { operatorChange } from "../client-rules.ts";
import { createClient, deleteClient, found, regenerateSecret } from "../clients.ts";
import { deleteClients } from "../delete-clients.ts";
import { documentsView } from "../document-changes.ts";
import {
  ById,
  identifier,
  inParts,
  listing,
  moment,
  OperatorClientPatch,
  OperatorCreateClientInput,
  RecordId,
  search,
  secondsOf,
} from "../inputs.ts";
import type { ManagedUsers } from "../ports.ts";
import { operatorProcedure, provenOperatorProcedure, router } from "../trpc.ts";
import { operatorClientView, pageView } from "../views.ts";

const Filter = z.strictObject({
  ...listing(CLIENT_SORTS),
  realmId: z.uuid().optional(),
  unusedSince: moment,
  ownerId: z.uuid().optional(),
  origin: z.enum(["built_in", "operator", "developer", "dynamic"]).optional(),
  environment: z.enum(ENVIRONMENTS).optional(),
  enabled: z.boolean().optional(),
  isAgent: z.boolean().optional(),
  search,
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
    const [{ unusedSince, ...filter }, part] = inParts<ClientSort, typeof input>(input);
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

  update: operatorProcedure.input(z.strictObject({ id: RecordId, patch: OperatorClientPatch })).mutation(async ({ ctx, input }) => {
    await assertOwnerExists(input.patch.ownerId, ctx.ports.users);
    const decide = (client: Client) => operatorChange(client, input.patch);
    return operatorClientView(found(await ctx.ports.clients.change(input.id, ctx.reach, decide, ctx.audit("client.changed"))));
  }),

  delete: provenOperatorProcedure.input(ById).mutation(({ ctx, input }) => deleteClient(input.id, ctx)),

  /** Deletes each of the named clients as `delete` does, and those alone that were neither used nor registered since. */
  deleteMany: provenOperatorProcedure
    .input(Named)
    .mutation(({ ctx, input }) => deleteClients(input.ids, secondsOf(input.unusedSince), ctx)),

  regenerateSecret: operatorProcedure.input(ById).mutation(({ ctx, input }) => regenerateSecret(input.id, operatorClientView, ctx)),
});
