import { z } from "zod";
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from "zod-openapi";
import { IntrospectionService } from "../../gen/countersign/introspection/v1/introspection_pb.ts";
import { sessionCookie } from "../http/cookies.ts";
import { json, jsonRequest, schema } from "../http/describe.ts";
import { pathsOf, type Route } from "../http/routes.ts";
import { IntrospectionAnswer } from "../oauth/introspect.ts";

/** The version of the API, not of the software. */
const INTERFACE_VERSION = "1.0.0";

/** The OpenAPI 3.1 description, assembled from the routes and the schemas that validate their input. */
export const openApiDocument = (issuer: string, routes: readonly Route[]): object =>
  createDocument({
    openapi: "3.1.0",
    info: {
      title: "Countersign",
      version: INTERFACE_VERSION,
      description:
        "OAuth 2.1 and OpenID Connect authorization server for AI agents and MCP servers that act for users. Every path that accepts GET also accepts HEAD; other methods are answered 405 with `Allow`, and a request with two `Content-Type` headers 400, as with two `Authorization` headers (401 at the introspection service). Responses of a path have an `X-Request-Id`. Paths are exact: case and a trailing slash matter, except that `/consents/` and `/api/clients/` need none, and they contain no percent-encoding.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: issuer }],
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        clientBasic: { type: "http", scheme: "basic", description: "client_id and client_secret." },
        session: { type: "apiKey", in: "cookie", name: sessionCookie(issuer), description: "The session of a signed-in user." },
      },
    },
    paths: { ...describedPaths(routes), ...connectPaths() },
  });

/** The described routes by path, with parameters as OpenAPI writes them: `{id}` for `:id`. */
function describedPaths(routes: readonly Route[]): Record<string, ZodOpenApiPathItemObject> {
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  for (const route of routes) {
    if (route.openapi === undefined) continue;
    const path = (pathsOf(route)[0] ?? "").replaceAll(/:(\w+)/g, "{$1}");
    const operation = route.openapi();
    const responses = withHeaders(operation.responses);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: { ...operation, responses } };
  }
  return paths;
}

const LOCATION = { Location: { description: "Where the user goes on.", schema: { type: "string" } } } as const;
const RETRY_AFTER = { "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } } } as const;

/** What responses of a status have (RFC 9110 §10, §11); the introspection service answers a body that is too long by a 429 without. */
const HEADERS: Readonly<Record<string, ZodOpenApiResponseObject["headers"]>> = {
  302: LOCATION,
  303: LOCATION,
  401: { "WWW-Authenticate": { description: "How the caller may authenticate.", schema: { type: "string" } } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

const withHeaders = (responses: ZodOpenApiResponsesObject): ZodOpenApiResponsesObject =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      status in HEADERS ? { ...response, headers: HEADERS[status] } : response,
    ]),
  );

/** The paths of the introspection service as resource servers reach it without gRPC: by the Connect protocol, in front of Koa. */
export function connectPaths(): ZodOpenApiPathsObject {
  const { introspect, introspectBatch, verifyApiKey } = IntrospectionService.method;
  const token = z.object({ token: z.string().min(1) });
  const key = z.object({ key: z.string().min(1).meta({ example: "csk_…" }) });
  /** Here `aud` is always a list. */
  const state = z.object({ ...IntrospectionAnswer().shape, aud: z.array(z.string()).optional() }).meta({ id: "TokenState" });
  const errors = errorResponses();
  const path = ({ name }: { readonly name: string }): string => `/${IntrospectionService.typeName}/${name}`;
  const call = (summary: string, request: z.ZodType, answer: z.ZodType): { readonly post: ZodOpenApiOperationObject } => ({
    post: {
      tags: ["Resource servers"],
      summary,
      description: "The gRPC method of this name over HTTP (Connect). For confidential clients, by HTTP Basic.",
      security: [{ clientBasic: [] }],
      requestBody: jsonRequest(request),
      responses: withHeaders({ "200": json("The answer.", answer), ...errors }),
    },
  });
  return {
    [path(introspect)]: call("The state of a token", token, state),
    [path(introspectBatch)]: call(
      "The states of 1 to 100 tokens, in the order of the request",
      z.object({ requests: z.array(token).min(1).max(100) }),
      z.object({ responses: z.array(state) }),
    ),
    [path(verifyApiKey)]: call("Whether a static API key may be used now, and for which client", key, keyState()),
  };
}

const keyState = schema(
  "ApiKeyState",
  () => ({
    active: z.boolean(),
    client_id: z.string().optional(),
    key_id: z.string().optional(),
    scope: z.string().optional().meta({ description: "What the client may do at most; space-separated." }),
  }),
  "An inactive key has only `active`.",
);

const ConnectError = schema(
  "ConnectError",
  () => ({
    code: z.string().meta({ example: "unauthenticated" }),
    message: z.string().optional(),
    details: z.array(z.looseObject({})).optional(),
  }),
  "The error of the Connect protocol; `details` has the code of this service.",
);

const errorResponses = () => ({
  "400": json("Not valid.", ConnectError()),
  "401": json("The caller could not be authenticated.", ConnectError()),
  "415": { description: "The body is not application/json, or is encoded." },
  "429": json("Too many requests, or the body is too long.", ConnectError()),
  "503": json("Not able to answer now.", ConnectError()),
});
