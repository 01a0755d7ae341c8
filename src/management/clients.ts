import { z } from "zod";
import { isApiKey } from "../clients/api-key.ts";
import type { Client } from "../clients/client.ts";
import { usesSecret } from "../clients/coherence.ts";
import type { NewClient, Reach } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import { hashSecret, newClientId, newId, newSecret } from "../random.ts";
import {
  assertMayMakeClients,
  assertSelfServiceScopes,
  assertUsable,
  developerChange,
  type GivenSettings,
  newSettings,
} from "./client-rules.ts";
import { ClientPatch, CreateClientInput, RecordId } from "./inputs.ts";
import type { ManagementPorts } from "./ports.ts";
import { type AuditNote, authenticateCaller, bearerToken, developerProcedure, type ManagementContext, procedure, router } from "./trpc.ts";
import { clientView } from "./views.ts";

const ById = z.strictObject({ id: RecordId });

/** Refuses an unknown record and one out of reach alike. @throws {Refusal} not_found */
export function found<Found>(record: Found | undefined): Found {
  if (record === undefined) throw new Refusal("not_found", "no_such_record", { description: "Not found." });
  return record;
}

/** A client that its developer or its own static API key may read. @see docs/protocol.md#api-keys */
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
function assertHasSecret(client: Client): void {
  if (!client.tokenEndpointAuthMethod.startsWith("client_secret")) {
    throw new Refusal("invalid_request", "client_has_no_secret", { description: "This client does not authenticate with a secret." });
  }
}

/** What procedures for developers and for operators share. */
type ClientCall = { readonly ports: ManagementPorts; readonly reach: Reach; readonly audit: AuditNote };

/**
 * Registers a client with a generated secret, and with a generated client_id unless one is given.
 * @returns the client as `view` shows it, with its secret if its authentication method uses one
 * @throws {Refusal} invalid_request, conflict
 */
export async function createClient<View extends object>(
  given: GivenSettings & { readonly clientId?: string | undefined },
  origin: NewClient["origin"],
  view: (client: Client) => View,
  { ports: { realms, registry, clock, randomBytes }, audit }: ClientCall,
): Promise<View & { readonly clientSecret?: string }> {
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
  const stored = await registry.register(client, audit("client.registered", { clientId: client.clientId }));
  return { ...view(stored), ...(clientSecret !== undefined && { clientSecret }) };
}

/** @throws {Refusal} not_found */
export async function deleteClient(id: string, { ports, reach, audit }: ClientCall): Promise<void> {
  found((await ports.clients.delete(id, reach, audit("client.deleted"))) || undefined);
}

/** @returns the client as `view` shows it, with its new secret  @throws {Refusal} not_found, invalid_request */
export async function regenerateSecret<View extends object>(id: string, view: (client: Client) => View, call: ClientCall) {
  const { ports, reach, audit } = call;
  assertHasSecret(found(await ports.clients.byId(id, reach)));
  const clientSecret = newSecret(ports.randomBytes);
  const client = await ports.clients.replaceSecret(id, reach, hashSecret(clientSecret), audit("client.secret_replaced"));
  return { ...view(found(client)), clientSecret };
}

/** The clients that a developer owns. @see docs/protocol.md#clients */
export const clientsRouter = router({
  list: developerProcedure.query(async ({ ctx }) => ({ clients: (await ctx.ports.clients.ofOwner(ctx.caller.userId)).map(clientView) })),

  create: developerProcedure.input(CreateClientInput).mutation(async ({ ctx, input }) => {
    assertMayMakeClients(ctx.caller.role, ctx.ports.signUpPolicy.developers);
    assertSelfServiceScopes(input.scopes, []);
    const settings = { ...input, ownerId: ctx.caller.userId, environment: ctx.ports.defaultEnvironment };
    return createClient(settings, "developer", clientView, ctx);
  }),

  get: procedure.input(ById).query(async ({ ctx, input }) => clientView(found(await readableClient(ctx, input.id)))),

  update: developerProcedure.input(z.strictObject({ id: RecordId, patch: ClientPatch })).mutation(async ({ ctx, input }) => {
    const decide = (client: Client) => developerChange(client, input.patch);
    return clientView(found(await ctx.ports.clients.change(input.id, ctx.reach, decide, ctx.audit("client.changed"))));
  }),

  delete: developerProcedure.input(ById).mutation(({ ctx, input }) => deleteClient(input.id, ctx)),

  regenerateSecret: developerProcedure.input(ById).mutation(({ ctx, input }) => regenerateSecret(input.id, clientView, ctx)),
});
