import { z } from "zod";
import { mintApiKey } from "../clients/api-key.ts";
import { mayHoldApiKey } from "../clients/client.ts";
import { Refusal } from "../errors.ts";
import { newId } from "../random.ts";
import { found } from "./clients.ts";
import { CreateApiKeyInput, RecordId } from "./inputs.ts";
import { developerProcedure, router } from "./trpc.ts";
import { apiKeyView } from "./views.ts";

const notInDevelopment = (): Refusal =>
  new Refusal("forbidden", "client_not_in_development", {
    description: "Static API keys are for clients in the development environment; use client_credentials.",
  });

/** Static API keys of a developer's clients. @see docs/protocol.md#api-keys */
export const apiKeysRouter = router({
  create: developerProcedure.input(z.strictObject({ clientId: RecordId, key: CreateApiKeyInput })).mutation(async ({ ctx, input }) => {
    const { clients, apiKeys, clock, randomBytes } = ctx.ports;
    const client = found(await clients.byId(input.clientId, ctx.reach));
    if (!mayHoldApiKey(client)) throw notInDevelopment();
    const { key, ...minted } = mintApiKey(randomBytes);
    const record = { ...minted, clientId: input.clientId, name: input.key.name, id: newId(clock, randomBytes) };
    const created = await apiKeys.create(record, ctx.reach, ctx.audit("api_key.created", { clientId: client.clientId }));
    if (created === undefined) throw notInDevelopment();
    return { ...apiKeyView(created), key };
  }),

  list: developerProcedure.input(z.strictObject({ clientId: RecordId })).query(async ({ ctx, input }) => {
    found(await ctx.ports.clients.byId(input.clientId, ctx.reach));
    return { apiKeys: (await ctx.ports.apiKeys.ofClient(input.clientId, ctx.reach)).map(apiKeyView) };
  }),

  revoke: developerProcedure.input(z.strictObject({ clientId: RecordId, keyId: RecordId })).mutation(async ({ ctx, input }) => {
    const revoked = await ctx.ports.apiKeys.revoke(input.keyId, input.clientId, ctx.reach, ctx.audit("api_key.revoked"));
    return apiKeyView(found(revoked));
  }),
});
