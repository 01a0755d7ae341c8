import { z } from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import { ClientPatch, CreateApiKeyInput, CreateClientInput } from "../../management/inputs.ts";
import { ApiKeyList, ApiKeyView, ClientList, ClientView, ClientWithSecret, CreatedApiKey, CreatedClient } from "./clients.ts";
import { json, jsonRequest } from "./describe.ts";
import { ApiError } from "./oauth.ts";

const refused = (description: string) => json(description, ApiError);
const notAllowed = {
  "400": refused("The Authorization header is malformed."),
  "401": refused("No token of a sign-in with this service."),
  "403": refused("What is asked for is an operator's to give, or the token lacks the scope clients:manage."),
  "503": refused("Not able to answer now; see Retry-After."),
};
const invalid = {
  "400": refused("Not valid; `issues` names the members."),
  "413": refused("The body is longer than 64 KiB."),
  "415": refused("The body is not application/json, or is encoded."),
};
const absent = { "404": refused("Not there, or another developer's.") };
const security = [{ bearer: [] }];
const clients = { tags: ["Clients"], security };
const keys = { tags: ["API keys"], security };
const client = { path: z.object({ id: z.uuid() }) };
const ofClient = { path: z.object({ clientId: z.uuid() }) };
const key = { path: z.object({ clientId: z.uuid(), keyId: z.uuid() }) };

/** Specification §4.3 and §4.4 as paths of the API description. */
export const clientPaths: ZodOpenApiPathsObject = {
  "/api/clients/": {
    get: { ...clients, summary: "Your clients", responses: { "200": json("All of them, newest first.", ClientList), ...notAllowed } },
    post: {
      ...clients,
      summary: "Makes a client",
      requestBody: jsonRequest(CreateClientInput),
      responses: { "201": json("The client, with its secret.", CreatedClient), ...notAllowed, ...invalid },
    },
  },
  "/api/clients/{id}": {
    get: {
      ...clients,
      summary: "One client; a static API key of its own may read it too",
      requestParams: client,
      responses: { "200": json("The client.", ClientView), ...notAllowed, ...absent },
    },
    patch: {
      ...clients,
      summary: "Changes what is sent, and nothing else",
      description:
        "A method without a secret drops the secret. A change to a method with one makes none: ask for one with regenerate-secret, since a secret is shown by that call and by the creation alone; until then the client cannot authenticate.",
      requestParams: client,
      requestBody: jsonRequest(ClientPatch),
      responses: { "200": json("The client as it is now.", ClientView), ...notAllowed, ...invalid, ...absent },
    },
    delete: {
      ...clients,
      summary: "Deletes a client, with its keys and all that was given to it",
      requestParams: client,
      responses: { "204": { description: "Deleted." }, ...notAllowed, ...absent },
    },
  },
  "/api/clients/{id}/regenerate-secret": {
    post: {
      ...clients,
      summary: "Gives a client a new secret; the old one is refused at once",
      requestParams: client,
      responses: {
        "200": json("The client, with its new secret.", ClientWithSecret),
        ...notAllowed,
        "400": refused("The client has no use for a secret, or a body was sent: the call takes none."),
        "413": refused("A body was sent, and it is longer than 64 KiB."),
        "415": refused("A body was sent that is not application/json."),
        ...absent,
      },
    },
  },
  "/api/clients/{clientId}/api-keys": {
    get: {
      ...keys,
      summary: "The static API keys of a client, revoked ones too",
      requestParams: ofClient,
      responses: { "200": json("The keys, masked.", ApiKeyList), ...notAllowed, ...absent },
    },
    post: {
      ...keys,
      summary: "Makes a static API key for a client in development",
      requestParams: ofClient,
      requestBody: jsonRequest(CreateApiKeyInput),
      responses: {
        "201": json("The key.", CreatedApiKey),
        ...notAllowed,
        ...invalid,
        "403": refused("The client is not in development: use client_credentials."),
        ...absent,
      },
    },
  },
  "/api/clients/{clientId}/api-keys/{keyId}": {
    delete: {
      ...keys,
      summary: "Revokes a key; idempotent",
      requestParams: key,
      responses: { "200": json("The key as it is now.", ApiKeyView), ...notAllowed, ...absent },
    },
  },
};
