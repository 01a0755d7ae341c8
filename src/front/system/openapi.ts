import { createDocument, type ZodOpenApiPathItemObject } from "zod-openapi";
import { pathsOf, type Route } from "../http/routes.ts";
import { connectPaths } from "./connect-openapi.ts";

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
        "OAuth 2.1 and OpenID Connect authorization server for AI agents and MCP servers that act for users. Every path that accepts GET also accepts HEAD; other methods are answered 405 with `Allow`. Paths are exact: case and a trailing slash matter, and they contain no percent-encoding.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: issuer }],
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        clientBasic: { type: "http", scheme: "basic", description: "client_id and client_secret." },
        session: { type: "apiKey", in: "cookie", name: "countersign", description: "The session of a signed-in user." },
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
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: route.openapi() };
  }
  return paths;
}
