import { z } from "zod";
import { isApiKey, MOST_VALID_KEYS, mintApiKey } from "../clients/api-key.ts";
import { type Client, ENVIRONMENTS, mayHoldApiKey } from "../clients/client.ts";
import { usesSecret } from "../clients/coherence.ts";
import { CLIENT_SORTS, type NewClient, type Reach } from "../clients/ports.ts";
import { redirectUriFault } from "../clients/redirect-uri.ts";
import { milliseconds } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { hashSecret, newClientId, newId, newSecret } from "../random.ts";
import { isOperator } from "./acts.ts";
import {
  assertMayMakeClients,
  assertSelfServiceScopes,
  assertUsable,
  developerChange,
  type GivenSettings,
  newSettings,
} from "./client-rules.ts";
import {
  ById,
  ClientPatch,
  CreateApiKeyInput,
  CreateClientInput,
  inParts,
  listing,
  RecordId,
  RedirectUrisInput,
  search,
  updatedAt,
} from "./inputs.ts";
import type { ManagementPorts } from "./ports.ts";
import {
  type AuditNote,
  authenticateCaller,
  bearerToken,
  developerProcedure,
  type ManagementContext,
  procedure,
  provenDeveloperProcedure,
  router,
} from "./trpc.ts";
import { apiKeyView, clientView, countsView, type PageEnd, pageView } from "./views.ts";

/** Refuses an unknown record and one out of reach alike. @throws {Refusal} not_found, unless another one is given */
export function found<Found>(record: Found | undefined, unknown?: () => Refusal): Found {
  if (record === undefined) throw unknown?.() ?? new Refusal("not_found", "no_such_record", { description: "Not found." });
  return record;
}

type Changeable = { readonly createdAt: number; readonly updatedAt: number | null };

/**
 * What becomes of a record, unless it was changed since its caller read it.
 * @param read `updatedAt` of the record that the caller changes
 * @returns a function that throws {Refusal} conflict
 */
export const ifUnchanged =
  <Stored extends Changeable, Change>(read: number | undefined, decide: (record: Stored) => Change) =>
  (record: Stored): Change => {
    if (read === undefined || read === milliseconds(record.updatedAt ?? record.createdAt)) return decide(record);
    throw new Refusal("conflict", "record_changed", { description: "The record was changed since it was read. Read it again." });
  };

/** A client that its developer or its own static API key may read. @see docs/protocol.md#api-keys */
async function readableClient(ctx: ManagementContext, id: string): Promise<Client | undefined> {
  const bearer = ctx.boundCaller === undefined ? bearerToken(ctx.authorization) : undefined;
  if (bearer === undefined || !isApiKey(bearer)) {
    const { userId } = await authenticateCaller(ctx);
    return ctx.ports.clients.byId(id, { kind: "owner", userId });
  }
  const live = await ctx.ports.apiKeyDirectory.byHash(hashSecret(bearer));
  if (live === undefined) throw new Refusal("invalid_token", "api_key_not_live");
  return live.client.id === id ? live.client : undefined;
}

/** @throws {Refusal} invalid_request for a client whose authentication method has no secret */
function assertHasSecret(client: Client): void {
  if (!usesSecret(client.tokenEndpointAuthMethod)) {
    throw new Refusal("invalid_request", "client_has_no_secret", { description: "This client does not authenticate with a secret." });
  }
}

/** What procedures for developers and for operators share. */
export type ClientCall = { readonly ports: ManagementPorts; readonly reach: Reach; readonly audit: AuditNote };

/**
 * Registers a client with a generated secret, and with a generated client_id unless one is given.
 * @returns the client as `view` shows it, with its secret if its authentication method uses one
 * @throws {Refusal} invalid_request, conflict
 */
export async function createClient<View extends object>(
  given: GivenSettings & { readonly clientId?: string | undefined },
  origin: NewClient["origin"],
  view: (client: Client) => View,
  { ports: { realms, clients, clock, randomBytes }, audit }: ClientCall,
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
  const stored = await clients.register(client, audit("client.registered", { clientId: client.clientId }));
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

/** What narrows a list of clients, of one's own or of all. */
export const ClientListInput = z.strictObject({
  ...listing(CLIENT_SORTS),
  environment: z.enum(ENVIRONMENTS).optional(),
  enabled: z.boolean().optional(),
  search,
});

type OwnClientList = { readonly clients: ReturnType<typeof clientView>[] } & Partial<PageEnd>;

/** The clients that a developer owns. @see docs/protocol.md#clients */
export const clientsRouter = router({
  /** All of them, or with an input a page. */
  list: developerProcedure.input(ClientListInput.optional()).query(async ({ ctx, input }): Promise<OwnClientList> => {
    const ownerId = ctx.caller.userId;
    if (input === undefined) return { clients: (await ctx.ports.clients.ofOwner(ownerId)).map(clientView) };
    const [filter, part] = inParts(input);
    return pageView("clients", await ctx.ports.clients.list({ ...filter, ownerId }, part), clientView);
  }),

  create: developerProcedure.input(CreateClientInput).mutation(async ({ ctx, input }) => {
    assertMayMakeClients(ctx.caller.role, ctx.ports.signUpPolicy.developers);
    assertSelfServiceScopes(input.scopes, []);
    const settings = { ...input, ownerId: ctx.caller.userId, environment: ctx.ports.defaultEnvironment };
    return createClient(settings, "developer", clientView, ctx);
  }),

  /** Why a client of this method may not have redirect URIs, as it would be refused with them. Writes nothing. */
  judgeRedirectUris: developerProcedure.input(RedirectUrisInput).query(({ ctx, input: { redirectUris, tokenEndpointAuthMethod } }) => {
    const client = { environment: isOperator(ctx.caller) ? null : ctx.ports.defaultEnvironment, tokenEndpointAuthMethod };
    return {
      faults: redirectUris.flatMap((redirectUri) => {
        const fault = redirectUriFault(redirectUri, client);
        return fault === undefined ? [] : [{ redirectUri, fault }];
      }),
    };
  }),

  get: procedure.input(ById).query(async ({ ctx, input }) => clientView(found(await readableClient(ctx, input.id)))),

  /** How many users allowed something to a client: one of the caller, or any for an operator. Who they are is for operators. @throws {Refusal} not_found */
  consents: developerProcedure.input(ById).query(async ({ ctx, input }) => {
    const { clientId } = found(await ctx.ports.clients.byId(input.id, ctx.view));
    return countsView(await ctx.ports.clientConsents.counts(clientId));
  }),

  update: developerProcedure.input(z.strictObject({ id: RecordId, patch: ClientPatch, updatedAt })).mutation(async ({ ctx, input }) => {
    const decide = ifUnchanged(input.updatedAt, (client: Client) => developerChange(client, input.patch));
    return clientView(found(await ctx.ports.clients.change(input.id, ctx.reach, decide, ctx.audit("client.changed"))));
  }),

  delete: provenDeveloperProcedure.input(ById).mutation(({ ctx, input }) => deleteClient(input.id, ctx)),

  regenerateSecret: developerProcedure.input(ById).mutation(({ ctx, input }) => regenerateSecret(input.id, clientView, ctx)),
});

const notInDevelopment = (): Refusal =>
  new Refusal("forbidden", "client_not_in_development", {
    description: "Static API keys are for clients in the development environment; use client_credentials.",
  });

const tooManyKeys = (): Refusal =>
  new Refusal("conflict", "too_many_api_keys", {
    description: `The client has ${MOST_VALID_KEYS} API keys. Revoke one that is not used any more.`,
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
    if (created !== undefined) return { ...apiKeyView(created), key };
    throw mayHoldApiKey(found(await clients.byId(input.clientId, ctx.reach))) ? tooManyKeys() : notInDevelopment();
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
