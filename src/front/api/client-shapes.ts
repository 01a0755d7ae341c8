import { z } from "zod";
import { ENVIRONMENTS, OPERATOR_AUTH_METHODS } from "../../clients/client.ts";
import { GRANT_TYPES } from "../../protocol/grants.ts";
import { apiError, lazily } from "../http/describe.ts";

const moment = () => z.int().meta({ description: "Milliseconds since 1970." });

/** A client as its developer reads it. */
export const ClientView = lazily(() =>
  z
    .strictObject({
      id: z.uuid(),
      clientId: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      redirectUris: z.array(z.string()),
      scopes: z.array(z.string()),
      grantTypes: z.array(z.enum(GRANT_TYPES)),
      responseTypes: z.array(z.enum(["code"])),
      tokenEndpointAuthMethod: z.enum(OPERATOR_AUTH_METHODS),
      enabled: z.boolean(),
      requirePkce: z.literal(true),
      requirePushedAuthorizationRequests: z.literal(true).optional(),
      environment: z.enum(ENVIRONMENTS).nullable().meta({ description: "Null is judged as production." }),
      staticApiKeysAllowed: z.boolean(),
      createdAt: moment(),
      updatedAt: moment(),
      lastUsedAt: moment().nullable(),
    })
    .meta({ id: "Client" }),
);

const clientSecret = () => z.string().meta({ description: "In clear, this once." });

/** The response to a creation: a secret is there where the method uses one. */
export const CreatedClient = lazily(() =>
  z.strictObject({ ...ClientView().shape, clientSecret: clientSecret().optional() }).meta({ id: "CreatedClient" }),
);
export const ClientWithSecret = lazily(() =>
  z.strictObject({ ...ClientView().shape, clientSecret: clientSecret() }).meta({ id: "ClientWithSecret" }),
);
export const ClientList = () => z.strictObject({ clients: z.array(ClientView()) });

/** A static API key without the key. */
export const ApiKeyView = lazily(() =>
  z
    .strictObject({
      id: z.uuid(),
      clientId: z.uuid().meta({ description: "The client's internal id." }),
      name: z.string(),
      prefix: z.string(),
      last4: z.string(),
      createdAt: moment(),
      lastUsedAt: moment().nullable(),
      revokedAt: moment().nullable(),
    })
    .meta({ id: "ApiKey" }),
);

export const CreatedApiKey = lazily(() =>
  z
    .strictObject({ ...ApiKeyView().shape, key: z.string().meta({ description: "The key in clear, this once." }) })
    .meta({ id: "CreatedApiKey" }),
);
export const ApiKeyList = () => z.strictObject({ apiKeys: z.array(ApiKeyView()) });

/** What the client routes have in common in the API description. */
export const clientParameter = () => ({ path: z.object({ id: z.uuid() }) });
export const clientKeysParameter = () => ({ path: z.object({ clientId: z.uuid() }) });
export const keyParameters = () => ({ path: z.object({ clientId: z.uuid(), keyId: z.uuid() }) });
export const notAllowed = () => ({
  "400": apiError("The Authorization header is malformed."),
  "401": apiError("No token of a sign-in with this service."),
  "403": apiError("What is asked for is an operator's to give, or the token lacks the scope clients:manage."),
  "503": apiError("Not able to answer now; see Retry-After."),
});
export const invalidBody = () => ({
  "400": apiError("Not valid; `issues` names the members."),
  "413": apiError("The body is longer than 64 KiB."),
  "415": apiError("The body is not application/json, or is encoded."),
});
export const absent = () => ({ "404": apiError("Not there, or another developer's.") });
