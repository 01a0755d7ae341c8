import { CreateApiKeyInput } from "../../management/inputs.ts";
import { apiError, json, jsonRequest } from "../http/describe.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { sendJson } from "../http/headers.ts";
import type { FrontContext, Route } from "../http/routes.ts";
import {
  ApiKeyList,
  ApiKeyView,
  absent,
  CreatedApiKey,
  clientKeysParameter,
  invalidBody,
  keyParameters,
  notAllowed,
  ofKeys,
} from "./client-shapes.ts";
import { type ManagementRoutesOptions, procedureCalls } from "./context.ts";

const KEYS = "/api/clients/:clientId/api-keys";

/** `/api/clients/{clientId}/api-keys/**`. @see docs/protocol.md#api-keys */
export function apiKeyRoutes(options: ManagementRoutesOptions): readonly Route[] {
  const print = apiErrorPrinter(options.issuer);
  const { calling, body } = procedureCalls(options);
  return [
    {
      method: "GET",
      path: KEYS,
      print,
      openapi: () => ({
        ...ofKeys,
        summary: "The static API keys of a client, revoked ones too",
        requestParams: clientKeysParameter(),
        responses: { "200": json("The keys, masked.", ApiKeyList()), ...notAllowed(), ...absent() },
      }),
      answer: calling(async ({ apiKeys }, ctx) => sendJson(ctx, await apiKeys.list(clientOf(ctx)))),
    },
    {
      method: "POST",
      path: KEYS,
      print,
      openapi: () => ({
        ...ofKeys,
        summary: "Makes a static API key for a client in development",
        requestParams: clientKeysParameter(),
        requestBody: jsonRequest(CreateApiKeyInput),
        responses: {
          "201": json("The key.", CreatedApiKey()),
          ...notAllowed(),
          ...invalidBody(),
          "403": apiError("The client is not in development: use client_credentials."),
          ...absent(),
        },
      }),
      answer: calling(async ({ apiKeys }, ctx) => sendJson(ctx, await apiKeys.create({ ...clientOf(ctx), key: await body(ctx) }), 201)),
    },
    {
      method: "DELETE",
      path: `${KEYS}/:keyId`,
      print,
      openapi: () => ({
        ...ofKeys,
        summary: "Revokes a key; idempotent",
        requestParams: keyParameters(),
        responses: { "200": json("The key as it is now.", ApiKeyView()), ...notAllowed(), ...absent() },
      }),
      answer: calling(async ({ apiKeys }, ctx) => sendJson(ctx, await apiKeys.revoke({ ...clientOf(ctx), keyId: ctx.params.keyId ?? "" }))),
    },
  ];
}

const clientOf = ({ params }: FrontContext) => ({ clientId: params.clientId ?? "" });
