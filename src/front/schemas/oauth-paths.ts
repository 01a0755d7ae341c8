import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from "zod-openapi";
import { form, json, jsonRequest, text } from "./describe.ts";
import {
  ApiDescription,
  ApiError,
  AuthorizeQuery,
  BearerError,
  Health,
  IntrospectAnswer,
  IntrospectForm,
  KeySet,
  Liveness,
  OauthError,
  RegistrationAnswer,
  RegistrationBody,
  RevokeForm,
  ServerMetadata,
  TokenAnswer,
  TokenRequestForm,
  Userinfo,
} from "./oauth.ts";

const oauthErrors = {
  "400": json("The request cannot be granted as it is.", OauthError),
  "401": json("The client could not be authenticated.", OauthError),
  "429": json("Too many requests; see Retry-After.", OauthError),
  "503": json("Not able to answer now; see Retry-After.", OauthError),
};

/** Of the paths that take a body. */
const bodyErrors = {
  "413": json("The body is too long.", OauthError),
  "415": json("The body is encoded.", OauthError),
};

const { "401": _, ...openErrors } = oauthErrors;

const discovery = (summary: string): ZodOpenApiOperationObject => ({
  tags: ["Discovery"],
  summary,
  security: [],
  responses: { "200": json("The document; cacheable.", ServerMetadata), "304": { description: "Not changed." } },
});

const userinfo: ZodOpenApiOperationObject = {
  tags: ["OAuth"],
  summary: "Claims about the person whose token it is",
  security: [{ bearer: [] }],
  responses: {
    "200": json("The claims.", Userinfo),
    ...oauthErrors,
    "401": json("The token is missing or not valid.", BearerError),
    "403": json("The token lacks the scope `openid`.", OauthError),
  },
};

/** What authorize answers by itself: a page for a browser, JSON for everyone else. */
const noRedirect = (description: string) => ({
  ...json(description, OauthError),
  content: { ...json(description, OauthError).content, "text/html": { schema: { type: "string" as const } } },
});

const authorize = (
  request: Partial<ZodOpenApiOperationObject>,
  status: "302" | "303" = "302",
  more: ZodOpenApiOperationObject["responses"] = {},
): ZodOpenApiOperationObject => ({
  tags: ["OAuth"],
  summary: "Asks the person at the browser for an authorization code",
  security: [],
  ...request,
  responses: {
    [status]: { description: "Back to the client with `code` or `error`, `state` and `iss`; or on to sign-in or consent." },
    "400": noRedirect("Client or redirect URI is not good: nobody is redirected. A page where the request prefers text/html."),
    "429": noRedirect("Too many requests from this address or by this user; see Retry-After."),
    "503": noRedirect("Not able to answer now; see Retry-After."),
    ...more,
  },
});

/** Specification §4.1 and §4.6 to §4.8 as paths of the API description. */
export const oauthPaths: ZodOpenApiPathsObject = {
  "/": { get: { tags: ["System"], summary: "A greeting", security: [], responses: { "200": text("A greeting.") } } },
  "/health": {
    get: {
      tags: ["System"],
      summary: "Whether traffic should come here",
      security: [],
      responses: { "200": json("It should.", Health), "503": json("It should not.", Health) },
    },
  },
  "/health/live": {
    get: {
      tags: ["System"],
      summary: "Whether the process lives; looks at nothing else",
      security: [],
      responses: { "200": json("It does.", Liveness) },
    },
  },
  "/openapi.json": {
    get: { tags: ["System"], summary: "This description", security: [], responses: { "200": json("OpenAPI 3.1.", ApiDescription) } },
  },
  "/metrics": { get: { tags: ["System"], summary: "Metrics for Prometheus", security: [], responses: { "200": text("The metrics.") } } },
  "/docs": { get: { tags: ["System"], summary: "This reference", security: [], responses: { "200": text("A page.", "text/html") } } },
  "/.well-known/oauth-authorization-server": { get: discovery("Authorization server metadata (RFC 8414)") },
  "/.well-known/openid-configuration": { get: discovery("OpenID provider metadata") },
  "/.well-known/jwks.json": {
    get: {
      tags: ["Discovery"],
      summary: "Public keys of every token",
      security: [],
      responses: {
        "200": json("The set; cacheable.", KeySet),
        "304": { description: "Not changed." },
        "503": json("No key is known yet.", ApiError),
      },
    },
  },
  "/oauth/authorize": {
    get: authorize({ requestParams: { query: AuthorizeQuery } }),
    post: authorize({ requestBody: form(AuthorizeQuery) }, "303", bodyErrors),
  },
  "/oauth/token": {
    post: {
      tags: ["OAuth"],
      summary: "Grants tokens",
      security: [{ clientBasic: [] }, {}],
      requestBody: form(TokenRequestForm),
      responses: { "200": json("The tokens.", TokenAnswer), ...oauthErrors, ...bodyErrors },
    },
  },
  "/oauth/introspect": {
    post: {
      tags: ["OAuth"],
      summary: "Tells the state of a token (RFC 7662)",
      security: [{ clientBasic: [] }, {}],
      requestBody: form(IntrospectForm),
      responses: { "200": json("The state.", IntrospectAnswer), ...oauthErrors, ...bodyErrors },
    },
  },
  "/oauth/revoke": {
    post: {
      tags: ["OAuth"],
      summary: "Ends a token (RFC 7009)",
      description: "For clients that have a secret, in the header or in the body. Public clients and those of private_key_jwt are refused.",
      security: [{ clientBasic: [] }, {}],
      requestBody: form(RevokeForm),
      responses: { "200": { description: "Done, or there was nothing to do. The body is empty." }, ...oauthErrors, ...bodyErrors },
    },
  },
  "/oauth/userinfo": { get: userinfo, post: userinfo },
  "/oauth/register": {
    post: {
      tags: ["OAuth"],
      summary: "Registers a client (RFC 7591)",
      security: [],
      requestBody: jsonRequest(RegistrationBody),
      responses: { "201": json("The client as registered.", RegistrationAnswer), ...openErrors, ...bodyErrors },
    },
  },
};
