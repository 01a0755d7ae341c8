import { z } from "zod";
import { type Client, ENVIRONMENTS } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import { operatorChange } from "../client-rules.ts";
import { createClient, deleteClient, found, regenerateSecret } from "../clients.ts";
import { OperatorClientPatch, OperatorCreateClientInput, paging, RecordId, search } from "../inputs.ts";
import type { ManagedUsers } from "../ports.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { operatorClientView, pageView } from "../views.ts";

const ById = z.strictObject({ id: RecordId });

const Filter = z.strictObject({
  ...paging,
  ownerId: z.uuid().optional(),
  origin: z.enum(["built_in", "operator", "developer", "dynamic"]).optional(),
  environment: z.enum(ENVIRONMENTS).optional(),
  enabled: z.boolean().optional(),
  isAgent: z.boolean().optional(),
  search,
});

/** @throws {Refusal} invalid_request for an unknown owner */
async function assertOwnerExists(ownerId: string | null | undefined, users: Pick<ManagedUsers, "byId">): Promise<void> {
  if (ownerId == null || (await users.byId(ownerId)) !== undefined) return;
  const issues = [{ path: "ownerId", message: "is not the id of a user" }];
  throw new Refusal("invalid_request", "owner_unknown", { description: "There is no such owner.", issues });
}

/** All clients, with the attributes that only operators set. @see docs/protocol.md#clients */
export const operatorClientsRouter = router({
  list: operatorProcedure
    .input(Filter.prefault({}))
    .query(async ({ ctx, input: { limit, cursor, ...filter } }) =>
      pageView("clients", await ctx.ports.clients.list(filter, limit, cursor), operatorClientView),
    ),

  get: operatorProcedure
    .input(ById)
    .query(async ({ ctx, input }) => operatorClientView(found(await ctx.ports.clients.byId(input.id, ctx.reach)))),

  create: operatorProcedure.input(OperatorCreateClientInput).mutation(async ({ ctx, input }) => {
    await assertOwnerExists(input.ownerId, ctx.ports.users);
    return createClient(input, "operator", operatorClientView, ctx);
  }),

  update: operatorProcedure.input(z.strictObject({ id: RecordId, patch: OperatorClientPatch })).mutation(async ({ ctx, input }) => {
    await assertOwnerExists(input.patch.ownerId, ctx.ports.users);
    const decide = (client: Client) => operatorChange(client, input.patch);
    return operatorClientView(found(await ctx.ports.clients.change(input.id, ctx.reach, decide, ctx.audit("client.changed"))));
  }),

  delete: operatorProcedure.input(ById).mutation(({ ctx, input }) => deleteClient(input.id, ctx)),

  regenerateSecret: operatorProcedure.input(ById).mutation(({ ctx, input }) => regenerateSecret(input.id, operatorClientView, ctx)),
});
