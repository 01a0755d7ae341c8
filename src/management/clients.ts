import { z } from "zod";
import { isApiKey } from "../clients/api-key.ts";
import type { Client } from "../clients/client.ts";
import { usesSecret } from "../clients/coherence.ts";
import type { NewClient } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import { newClientId, newId } from "../identifier.ts";
import { hashSecret, newSecret } from "../secret.ts";
import { assertSelfServiceScopes, assertUsable, developerChange, type GivenSettings, newSettings } from "./client-rules.ts";
import { ClientPatch, CreateClientInput, RecordId } from "./inputs.ts";
import type { ManagementPorts } from "./ports.ts";
import { authenticateCaller, bearerToken, developerProcedure, type ManagementContext, procedure, router } from "./trpc.ts";
import { clientView } from "./views.ts";

const ById = z.strictObject({ id: RecordId });

/** The same for a record that does not exist and for one out of reach. @throws {Refusal} not_found */
export function found<Found>(record: Found | undefined): Found {
  if (record === undefined) throw new Refusal("not_found", "no_such_record", { description: "Not found." });
  return record;
}

/** A client as its developer or its own static API key reads it; undefined for any other key. @see docs/protocol.md#api-keys */
async function readableClient(ctx: ManagementContext, id: string): Promise<Client | undefined> {
  const bearer = bearerToken(ctx.authorization);
  if (!isApiKey(bearer)) {
    const { userId } = await authenticateCaller(ctx);
    return ctx.ports.clients.byId(id, { kind: "owner", userId });
  }
  const live = await ctx.ports.apiKeyDirectory.byHash(hashSecret(bearer));
  if (live === undefined) throw new Refusal("invalid_token", "api_key_not_live");
  return live.client.id === id ? live.client : undefined;
}

/** @throws {Refusal} invalid_request for a client whose authentication method has no secret */
export function assertHasSecret(client: Client): void {
  if (!client.tokenEndpointAuthMethod.startsWith("client_secret")) {
    throw new Refusal("invalid_request", "client_has_no_secret", { description: "This client does not authenticate with a secret." });
  }
}

export interface MintedClient {
  readonly client: NewClient;
  /** Plain text, for the one response that shows it; undefined where the authentication method has no secret. */
  readonly clientSecret: string | undefined;
}

/**
 * A new client, with a generated client_id and secret.
 * @throws {Refusal} invalid_request
 */
export async function mintClient(
  given: GivenSettings & { readonly clientId?: string | undefined },
  origin: NewClient["origin"],
  { realms, clock, randomBytes }: ManagementPorts,
): Promise<MintedClient> {
  const settings = newSettings(given);
  assertUsable(settings);
  const clientSecret = usesSecret(settings.tokenEndpointAuthMethod) ? newSecret(randomBytes) : undefined;
  const client: NewClient = {
    ...settings,
    origin,
    id: newId(clock, randomBytes),
    clientId: given.clientId ?? newClientId(randomBytes),
    realmId: (await realms.default()).id,
    secretHash: clientSecret === undefined ? null : hashSecret(clientSecret),
  };
  return { client, clientSecret };
}

/** The clients that a developer owns. @see docs/protocol.md#clients */
export const clientsRouter = router({
  list: developerProcedure.query(async ({ ctx }) => ({
    clients: (await ctx.ports.clients.ofOwner(ctx.caller.userId)).map(clientView),
  })),

  create: developerProcedure.input(CreateClientInput).mutation(async ({ ctx, input }) => {
    assertSelfServiceScopes(input.scopes, []);
    const { defaultEnvironment: environment, registry } = ctx.ports;
    const minted = await mintClient({ ...input, ownerId: ctx.caller.userId, environment }, "developer", ctx.ports);
    const client = await registry.register(minted.client, ctx.audit("client.registered", { clientId: minted.client.clientId }));
    const { clientSecret } = minted;
    return { ...clientView(client), ...(clientSecret !== undefined && { clientSecret }) };
  }),

  get: procedure.input(ById).query(async ({ ctx, input }) => clientView(found(await readableClient(ctx, input.id)))),

  update: developerProcedure.input(z.strictObject({ id: RecordId, patch: ClientPatch })).mutation(async ({ ctx, input }) => {
    const decide = (client: Client) => developerChange(client, input.patch);
    return clientView(found(await ctx.ports.clients.change(input.id, ctx.reach, decide, ctx.audit("client.changed"))));
  }),

  delete: developerProcedure.input(ById).mutation(async ({ ctx, input }) => {
    const deleted = await ctx.ports.clients.delete(input.id, ctx.reach, ctx.audit("client.deleted"));
    found(deleted || undefined);
  }),

  regenerateSecret: developerProcedure.input(ById).mutation(async ({ ctx, input }) => {
    const { clients, randomBytes } = ctx.ports;
    assertHasSecret(found(await clients.byId(input.id, ctx.reach)));
    const clientSecret = newSecret(randomBytes);
    const client = await clients.replaceSecret(input.id, ctx.reach, hashSecret(clientSecret), ctx.audit("client.secret_replaced"));
    return { ...clientView(found(client)), clientSecret };
  }),
});
