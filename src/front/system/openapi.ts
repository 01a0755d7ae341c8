import { createDocument, type ZodOpenApiPathsObject } from "zod-openapi";

/** Of the interface, not of the software (specification §9). */
const INTERFACE_VERSION = "1.0.0";

/**
 * The OpenAPI 3.1 description, made from the schemas that validate.
 * @param paths what each room of routes says about its own
 */
export const openApiDocument = (issuer: string, paths: readonly ZodOpenApiPathsObject[]): object =>
  createDocument({
    openapi: "3.1.0",
    info: {
      title: "Countersign",
      version: INTERFACE_VERSION,
      description:
        "OAuth 2.1 and OpenID Connect authorization server for AI agents and MCP servers that act for people. Every path that takes GET answers HEAD as well; a method that a path does not take is answered 405 with `Allow`. Paths are exact: case and a slash at the end count, and nothing in them is percent-encoded.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: issuer }],
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        clientBasic: { type: "http", scheme: "basic", description: "client_id and client_secret." },
        session: { type: "apiKey", in: "cookie", name: "countersign", description: "The session of a signed-in person." },
      },
    },
    paths: Object.assign({}, ...paths),
  });
