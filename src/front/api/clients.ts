import { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import { ENVIRONMENTS, MOST_CLIENTS, OPERATOR_AUTH_METHODS } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import { ClientPatch, CreateApiKeyInput, CreateClientInput } from "../../management/inputs.ts";
import { authenticateCaller } from "../../management/trpc.ts";
import { GRANT_TYPES } from "../../protocol/grants.ts";
import { apiErrorPrinter, noStore, sendJson } from "../http/answers.ts";
import { apiError, json, jsonRequest, lazily } from "../http/describe.ts";
import type { ErrorPrinter, FrontContext, Handler, Method, Route } from "../http/routes.ts";
import { bodyOf, contextOf, type ManagementRoutesOptions, type ProcedureCalls, procedureCalls } from "./context.ts";

/** Answers with and without a trailing slash, as /consents/ does. */
const COLLECTION = ["/api/clients/", "/api/clients"] as const;
const CLIENT = "/api/clients/:id";
const KEYS = "/api/clients/:clientId/api-keys";

type Operation = Omit<ZodOpenApiOperationObject, "tags" | "security">;

const routesOf =
  (tag: string, print: ErrorPrinter) =>
  (method: Method, path: Route["path"], answer: Handler, describe: () => Operation): Route => ({
    method,
    path,
    print,
    answer,
    openapi: () => ({ tags: [tag], security: [{ bearer: [] }], ...describe() }),
  });

/** `/api/clients/**`: the procedures of the typed API, which validate the bodies, in the shape of docs/protocol.md#registration. */
export function clientApiRoutes(options: ManagementRoutesOptions): readonly Route[] {
  const print = apiErrorPrinter(options.issuer);
  const calls = procedureCalls(options);
  return [...collectionRoutes(print, calls), ...clientRoutes(print, calls, options), ...apiKeyRoutes(print, calls)];
}

function collectionRoutes(print: ErrorPrinter, { calling, body }: ProcedureCalls): readonly Route[] {
  const route = routesOf("Clients", print);
  const list = calling(async ({ clients }, ctx) => sendJson(ctx, await clients.list()));
  const create = calling(async ({ clients }, ctx) => sendJson(ctx, await clients.create(await body(ctx)), 201));
  return [
    route("GET", COLLECTION, list, () => ({
      summary: "Your clients",
      responses: { "200": json("All of them, newest first.", ClientList()), ...notAllowed() },
    })),
    route("POST", COLLECTION, create, () => ({
      summary: "Makes a client",
      requestBody: jsonRequest(CreateClientInput),
      responses: {
        "201": json("The client, with its secret.", CreatedClient()),
        ...notAllowed(),
        ...invalidBody(),
        "409": apiError(`You have ${MOST_CLIENTS} clients: delete one.`),
      },
    })),
  ];
}

function clientRoutes(print: ErrorPrinter, { calling, body }: ProcedureCalls, options: ManagementRoutesOptions): readonly Route[] {
  const route = routesOf("Clients", print);
  const get = calling(async ({ clients }, ctx) => sendJson(ctx, await clients.get(idOf(ctx))));
  const update = calling(async ({ clients }, ctx) => sendJson(ctx, await clients.update({ ...idOf(ctx), patch: await body(ctx) })));
  const remove = calling(async ({ clients }, ctx) => {
    await clients.delete(idOf(ctx));
    noStore(ctx);
    ctx.status = 204;
  });
  const regenerateSecret = calling(async ({ clients }, ctx) => {
    await assertNoBody(ctx, options);
    sendJson(ctx, await clients.regenerateSecret(idOf(ctx)));
  });
  return [
    route("GET", CLIENT, get, () => ({
      summary: "One client; a static API key of its own may read it too",
      requestParams: clientParameter(),
      responses: { "200": json("The client.", ClientView()), ...notAllowed(), ...absent() },
    })),
    route("PATCH", CLIENT, update, () => ({
      summary: "Changes what is sent, and nothing else",
      description:
        "A method without a secret drops the secret. A change to a method with one makes none: ask for one with regenerate-secret, since a secret is shown by that call and by the creation alone; until then the client cannot authenticate.",
      requestParams: clientParameter(),
      requestBody: jsonRequest(ClientPatch),
      responses: { "200": json("The client as it is now.", ClientView()), ...notAllowed(), ...invalidBody(), ...absent() },
    })),
    route("DELETE", CLIENT, remove, () => ({
      summary: "Deletes a client, with its keys and all that was given to it",
      requestParams: clientParameter(),
      responses: { "204": { description: "Deleted." }, ...notAllowed(), ...absent() },
    })),
    route("POST", `${CLIENT}/regenerate-secret`, regenerateSecret, () => ({
      summary: "Gives a client a new secret; the old one is refused at once",
      requestParams: clientParameter(),
      responses: {
        "200": json("The client, with its new secret.", ClientWithSecret()),
        ...notAllowed(),
        "400": apiError("The client has no use for a secret, or a body was sent: the call takes none."),
        "413": apiError("A body was sent, and it is longer than 64 KiB."),
        "415": apiError("A body was sent that is not application/json."),
        ...absent(),
      },
    })),
  ];
}

/** `/api/clients/{clientId}/api-keys/**`. @see docs/protocol.md#api-keys */
function apiKeyRoutes(print: ErrorPrinter, { calling, body }: ProcedureCalls): readonly Route[] {
  const route = routesOf("API keys", print);
  const list = calling(async ({ apiKeys }, ctx) => sendJson(ctx, await apiKeys.list(clientOf(ctx))));
  const create = calling(async ({ apiKeys }, ctx) => sendJson(ctx, await apiKeys.create({ ...clientOf(ctx), key: await body(ctx) }), 201));
  const revoke = calling(async ({ apiKeys }, ctx) =>
    sendJson(ctx, await apiKeys.revoke({ ...clientOf(ctx), keyId: ctx.params.keyId ?? "" })),
  );
  return [
    route("GET", KEYS, list, () => ({
      summary: "The static API keys of a client, revoked ones too",
      requestParams: clientKeysParameter(),
      responses: { "200": json("The keys, masked.", ApiKeyList()), ...notAllowed(), ...absent() },
    })),
    route("POST", KEYS, create, () => ({
      summary: "Makes a static API key for a client in development",
      requestParams: clientKeysParameter(),
      requestBody: jsonRequest(CreateApiKeyInput),
      responses: {
        "201": json("The key.", CreatedApiKey()),
        ...notAllowed(),
        ...invalidBody(),
        "403": apiError("The client is not in development: use client_credentials."),
        "409": apiError("The client has 100 keys: revoke one."),
        ...absent(),
      },
    })),
    route("DELETE", `${KEYS}/:keyId`, revoke, () => ({
      summary: "Revokes a key; idempotent",
      requestParams: { path: z.object({ clientId: z.uuid(), keyId: z.uuid() }) },
      responses: { "200": json("The key as it is now.", ApiKeyView()), ...notAllowed(), ...absent() },
    })),
  ];
}

const clientOf = ({ params }: FrontContext) => ({ clientId: params.clientId ?? "" });
const idOf = ({ params }: FrontContext) => ({ id: params.id ?? "" });

/** Refuses a body where the call takes none: a caller may expect an effect. @throws {Refusal} invalid_request, unsupported_media_type */
async function assertNoBody(ctx: FrontContext, options: ManagementRoutesOptions): Promise<void> {
  const { "content-length": length, "transfer-encoding": coding } = ctx.req.headers;
  if (coding === undefined && Number(length ?? 0) === 0) return;
  const body = await bodyOf(ctx, options);
  if (typeof body === "object" && body !== null && !Array.isArray(body) && Object.keys(body).length === 0) return;
  await authenticateCaller(contextOf(ctx, options));
  throw new Refusal("invalid_request", "body_not_empty", { description: "This call takes no body." });
}

const moment = () => z.int().meta({ description: "Milliseconds since 1970." });

const ClientView = lazily(() =>
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

const ApiKeyView = lazily(() =>
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

const clientParameter = () => ({ path: z.object({ id: z.uuid() }) });
const clientKeysParameter = () => ({ path: z.object({ clientId: z.uuid() }) });
const notAllowed = () => ({
  "400": apiError("The Authorization header is malformed."),
  "401": apiError("No token of a sign-in with this service."),
  "403": apiError("What is asked for is an operator's to give, or the token lacks the scope clients:manage."),
  "503": apiError("Not able to answer now; see Retry-After."),
});
const invalidBody = () => ({
  "400": apiError("Not valid; `issues` names the members."),
  "413": apiError("The body is longer than 64 KiB."),
  "415": apiError("The body is not application/json, or is encoded."),
});
const absent = () => ({ "404": apiError("Not there, or another developer's.") });
