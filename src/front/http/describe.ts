import { z } from "zod";
import type { ZodOpenApiRequestBodyObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from "zod-openapi";

/** The shapes that several routes share in the API description. */

/** A schema that is made when it is first described, so that it does not delay the start. */
export function lazily<Schema>(make: () => Schema): () => Schema {
  let made: Schema | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** A named schema of the API description. */
export const schema = <Members extends z.ZodRawShape>(id: string, members: () => Members, description?: string) =>
  lazily(() => z.object(members()).meta({ id, ...(description !== undefined && { description }) }));

export const json = (description: string, schema: z.ZodType): ZodOpenApiResponseObject => ({
  description,
  content: { "application/json": { schema } },
});

export const text = (description: string, type = "text/plain"): ZodOpenApiResponseObject => ({
  description,
  content: { [type]: { schema: { type: "string" } } },
});

/** A response that is a page where the request prefers text/html. */
export const orPage = (response: ZodOpenApiResponseObject): ZodOpenApiResponseObject => ({
  ...response,
  content: { ...response.content, ...text("", "text/html").content },
});

export const form = (schema: z.ZodType): ZodOpenApiRequestBodyObject => ({
  required: true,
  content: { "application/x-www-form-urlencoded": { schema } },
});

export const jsonRequest = (schema: z.ZodType): ZodOpenApiRequestBodyObject => ({
  required: true,
  content: { "application/json": { schema } },
});

/** A route that anyone may call. */
export function publicOperation(tag: string, summary: string, responses: ZodOpenApiResponsesObject) {
  return { tags: [tag], summary, security: [], responses };
}

export const OauthError = schema("OAuthError", () => ({
  error: z.string().meta({ example: "invalid_request" }),
  error_description: z.string().optional(),
}));

const ApiError = schema("ApiError", () => ({
  statusCode: z.int(),
  error: z.string(),
  message: z.string(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
}));

/** An error of the routes that are neither OAuth nor a page. */
export const apiError = (description: string): ZodOpenApiResponseObject => json(description, ApiError());

export const oauthErrors = (): ZodOpenApiResponsesObject => ({
  "400": json("The request cannot be granted as it is.", OauthError()),
  "401": json("The client could not be authenticated.", OauthError()),
  "429": json("Too many requests; see Retry-After.", OauthError()),
  "503": json("Not able to answer now; see Retry-After.", OauthError()),
});

export const oauthBodyErrors = (): ZodOpenApiResponsesObject => ({
  "413": json("The body is too long.", OauthError()),
  "415": json("The body is encoded.", OauthError()),
});

export const scope = () => z.string().meta({ description: "Space-separated.", example: "openid email" });
export const seconds = () => z.int().meta({ description: "Seconds." });
export const secondsSinceEpoch = () => z.int().meta({ description: "Seconds since the epoch." });
export const resource = () => z.array(z.string()).optional().meta({ description: "RFC 8707; may be repeated, at most 10 times." });

/** @param effect what a proof brings about */
export const proofHeader = (effect: string) =>
  z.object({
    DPoP: z
      .string()
      .optional()
      .meta({ description: `A proof of possession (RFC 9449): ${effect}.` }),
  });

export const credentialFields = () => ({ client_id: z.string().optional(), client_secret: z.string().optional() });

/** How clients authenticate by a JWT. The second type is that of a JWT-SVID. */
export const assertionFields = () => ({
  client_assertion_type: z
    .enum(["urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "urn:ietf:params:oauth:client-assertion-type:jwt-spiffe"])
    .optional(),
  client_assertion: z.string().optional(),
});

export const authorizeParameters = () =>
  z.object({
    response_type: z.literal("code"),
    client_id: z.string(),
    redirect_uri: z.string(),
    code_challenge: z.string(),
    code_challenge_method: z.literal("S256"),
    scope: scope().optional(),
    state: z.string().optional(),
    nonce: z.string().optional(),
    resource: resource(),
    prompt: z.string().optional(),
    max_age: z.string().optional(),
    acr_values: z.string().optional(),
    login_hint: z.string().optional(),
    id_token_hint: z.string().optional(),
    dpop_jkt: z.string().optional().meta({ description: "The thumbprint of the key that the code is bound to (RFC 9449 §10)." }),
    ui_locales: z.string().optional(),
  });
