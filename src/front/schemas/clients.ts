import { z } from "zod";
import { AUTH_METHODS, ENVIRONMENTS } from "../../clients/client.ts";
import { GRANT_TYPES } from "../../protocol/grants.ts";

const moment = z.int().meta({ description: "Milliseconds since 1970." });

/** A client as its developer reads it (specification §2.2). */
export const ClientView = z
  .strictObject({
    id: z.uuid(),
    clientId: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    redirectUris: z.array(z.string()),
    scopes: z.array(z.string()),
    grantTypes: z.array(z.enum(GRANT_TYPES)),
    responseTypes: z.array(z.enum(["code"])),
    tokenEndpointAuthMethod: z.enum(AUTH_METHODS),
    enabled: z.boolean(),
    requirePkce: z.literal(true),
    environment: z.enum(ENVIRONMENTS).nullable().meta({ description: "Null is judged as production." }),
    staticApiKeysAllowed: z.boolean(),
    createdAt: moment,
    updatedAt: moment,
    lastUsedAt: moment.nullable(),
  })
  .meta({ id: "Client" });

const clientSecret = z.string().meta({ description: "In clear, this once." });

/** The answer to a creation: a secret is there where the method uses one. */
export const CreatedClient = z.strictObject({ ...ClientView.shape, clientSecret: clientSecret.optional() }).meta({ id: "CreatedClient" });
export const ClientWithSecret = z.strictObject({ ...ClientView.shape, clientSecret }).meta({ id: "ClientWithSecret" });
export const ClientList = z.strictObject({ clients: z.array(ClientView) });

/** A static API key without the key (specification §2.3). */
export const ApiKeyView = z
  .strictObject({
    id: z.uuid(),
    clientId: z.uuid().meta({ description: "The client's internal id." }),
    name: z.string(),
    prefix: z.string(),
    last4: z.string(),
    createdAt: moment,
    lastUsedAt: moment.nullable(),
    revokedAt: moment.nullable(),
  })
  .meta({ id: "ApiKey" });

export const CreatedApiKey = z
  .strictObject({ ...ApiKeyView.shape, key: z.string().meta({ description: "The key in clear, this once." }) })
  .meta({ id: "CreatedApiKey" });
export const ApiKeyList = z.strictObject({ apiKeys: z.array(ApiKeyView) });
