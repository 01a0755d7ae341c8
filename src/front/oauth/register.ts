import { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import type { RateLimiter } from "../../accounts/ports.ts";
import { type Client, DEFAULT_SETTINGS } from "../../clients/client.ts";
import type { ManagedClients, NewClient, Realms } from "../../clients/ports.ts";
import {
  parseRegistrationRequest,
  type RegistrableMetadata,
  type RegistrationPolicy,
  RegistrationRequest,
  registrableMetadata,
} from "../../clients/registration.ts";
import type { Clock } from "../../clock.ts";
import { Refusal } from "../../errors.ts";
import { limitKey } from "../../protocol/limit-key.ts";
import { hashSecret, newClientId, newId, newSecret, type RandomBytes } from "../../random.ts";
import type { OfferedScopes } from "../../resources/ports.ts";
import { oauthErrorPrinter, sendJson } from "../http/answers.ts";
import { jsonBody } from "../http/body.ts";
import { json, jsonRequest, oauthBodyErrors, oauthErrors, schema, scope, secondsSinceEpoch } from "../http/describe.ts";
import type { FrontContext, Route } from "../http/routes.ts";

const BODY_LIMIT = 16 * 1024;

export interface RegisterRouteOptions {
  readonly issuer: string;
  readonly registry: Pick<ManagedClients, "register">;
  readonly realms: Realms;
  readonly resources: OfferedScopes;
  /** REGISTER_CLIENT_RATE_LIMIT per REGISTER_CLIENT_RATE_WINDOW. */
  readonly limiter: RateLimiter;
  /** DEFAULT_DYNAMIC_REGISTRATION_SCOPES: for realms that do not say what they allow. */
  readonly defaultScopes: readonly string[];
  readonly scopeMode: RegistrationPolicy["scopeMode"];
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

/** `POST /oauth/register`: open to all, limited by address. @see RFC 7591 §3, docs/protocol.md#registration */
export const registerRoute = (options: RegisterRouteOptions): Route => ({
  method: "POST",
  path: "/oauth/register",
  cors: true,
  print: oauthErrorPrinter(options.issuer),
  openapi: describeRegistration,
  async answer(ctx) {
    await assertWithinRate(options.limiter, ctx.state.address);
    const request = parseRegistrationRequest(await registrationJson(ctx));
    const realm = await options.realms.default();
    const allowedScopes = realm.dynamicRegistrationScopes ?? options.defaultScopes;
    const offeredScopes = request.scope === undefined ? [] : await options.resources.offered(realm.id, "registered");
    const metadata = registrableMetadata(request, { allowedScopes, offeredScopes, scopeMode: options.scopeMode });
    const secret = metadata.tokenEndpointAuthMethod === "none" ? undefined : newSecret(options.randomBytes);
    const candidate = newDynamicClient(metadata, realm.id, secret, options);
    const { clientId } = candidate;
    const client = await options.registry.register(candidate, {
      event: "client.registered",
      outcome: "success",
      actor: { type: "client", id: clientId },
      clientId,
      address: ctx.state.address,
      requestId: ctx.state.requestId,
    });
    sendJson(ctx, registrationJsonOf(client, secret), 201);
  },
});

async function assertWithinRate(limiter: RateLimiter, address: string): Promise<void> {
  const wait = await limiter.hit(limitKey(address));
  if (wait === 0) return;
  const description = "Too many registrations from this address: try again after the seconds in Retry-After.";
  throw new Refusal("too_many_requests", "registration_rate", { retryAfter: wait, description });
}

/** Reads the body. Invalid JSON is invalid client metadata. */
async function registrationJson(ctx: FrontContext): Promise<unknown> {
  try {
    return await jsonBody(ctx, BODY_LIMIT, "invalid_client_metadata");
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "invalid_request") throw error;
    throw new Refusal("invalid_client_metadata", error.reason, error.detail);
  }
}

function newDynamicClient(metadata: RegistrableMetadata, realmId: string, secret: string | undefined, by: RegisterRouteOptions): NewClient {
  const clientId = newClientId(by.randomBytes);
  const { name, ...kept } = metadata;
  return {
    ...DEFAULT_SETTINGS,
    ...kept,
    id: newId(by.clock, by.randomBytes),
    clientId,
    realmId,
    origin: "dynamic",
    name: name ?? clientId,
    secretHash: secret === undefined ? null : hashSecret(secret),
  };
}

/** All metadata as registered; `redirect_uris` is always a list, and nothing is `null` (RFC 7591 §3.2.1). */
const registrationJsonOf = (client: Client, secret: string | undefined) => ({
  client_id: client.clientId,
  client_id_issued_at: Math.floor(client.createdAt),
  ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
  client_name: client.name,
  redirect_uris: client.redirectUris,
  grant_types: client.grantTypes,
  response_types: client.responseTypes,
  token_endpoint_auth_method: client.tokenEndpointAuthMethod,
  ...(client.dpopBoundAccessTokens && { dpop_bound_access_tokens: true }),
  ...(client.requirePushedAuthorizationRequests && { require_pushed_authorization_requests: true }),
  ...(client.scopes.length > 0 && { scope: client.scopes.join(" ") }),
});

function describeRegistration(): ZodOpenApiOperationObject {
  const { "401": _, ...errors } = oauthErrors();
  return {
    tags: ["OAuth"],
    summary: "Registers a client (RFC 7591)",
    security: [],
    requestBody: jsonRequest(RegistrationRequest.meta({ id: "ClientRegistrationRequest" })),
    responses: { "201": json("The client as registered.", registrationResponse()), ...errors, ...oauthBodyErrors() },
  };
}

const registrationResponse = schema("ClientRegistrationResponse", () => ({
  client_id: z.string(),
  client_id_issued_at: secondsSinceEpoch(),
  client_secret: z.string().optional().meta({ description: "Confidential clients only; shown this once." }),
  client_secret_expires_at: z.literal(0).optional(),
  client_name: z.string(),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  response_types: z.array(z.literal("code")),
  token_endpoint_auth_method: z.enum(["client_secret_basic", "client_secret_post", "none"]),
  dpop_bound_access_tokens: z.literal(true).optional(),
  require_pushed_authorization_requests: z.literal(true).optional(),
  scope: scope(),
}));
