import { z } from "zod";
import { RegistrationRequest } from "../../protocol/registration-request.ts";

/** The shapes of everything below /oauth and of the system routes, as the API description tells them. */

const seconds = z.int().meta({ description: "Seconds." });
const moment = z.int().meta({ description: "Seconds since the epoch." });
const scope = z.string().meta({ description: "Space-separated.", example: "openid email" });

export const OauthError = z
  .object({ error: z.string().meta({ example: "invalid_request" }), error_description: z.string().optional() })
  .meta({ id: "OAuthError" });

/** RFC 6750 §3.1: a request without a token is answered without an error code. */
export const BearerError = OauthError.partial().meta({
  id: "BearerError",
  description: "Empty where no token was sent; see WWW-Authenticate.",
});

export const ApiError = z
  .object({
    statusCode: z.int(),
    error: z.string(),
    message: z.string(),
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: "ApiError" });

/** The members that carry a client's credential in the body. */
const credential = {
  client_id: z.string().optional(),
  client_secret: z.string().optional(),
};
const assertion = {
  client_assertion_type: z.literal("urn:ietf:params:oauth:client-assertion-type:jwt-bearer").optional(),
  client_assertion: z.string().optional(),
};
const resource = z.array(z.string()).optional().meta({ description: "RFC 8707; may be repeated, at most 10 times." });

export const TokenRequestForm = z
  .object({
    grant_type: z.string().meta({ example: "authorization_code" }),
    code: z.string().optional(),
    redirect_uri: z.string().optional(),
    code_verifier: z.string().optional().meta({ description: "43 to 128 characters of A-Z a-z 0-9 . _ ~ -" }),
    refresh_token: z.string().optional(),
    scope: scope.optional().meta({
      description:
        "Space-separated. In a token exchange only scopes of the agent's own allowlist are granted: one outside of it is invalid_scope; left out, those of the subject token that are in it.",
      example: "openid email",
    }),
    resource,
    audience: z.array(z.string()).optional().meta({ description: "Token exchange only; may be repeated." }),
    subject_token: z.string().optional(),
    subject_token_type: z.string().optional(),
    actor_token: z.string().optional(),
    actor_token_type: z.string().optional(),
    requested_token_type: z.string().optional(),
    assertion: z.string().optional(),
    ...credential,
    ...assertion,
  })
  .meta({ id: "TokenRequest" });

export const TokenAnswer = z
  .object({
    access_token: z.string(),
    issued_token_type: z.string().optional().meta({ description: "Token exchange only." }),
    token_type: z.string().meta({ example: "Bearer" }),
    expires_in: seconds,
    refresh_token: z.string().optional().meta({ description: "64 hexadecimal characters." }),
    id_token: z.string().optional(),
    scope,
    pqc_signature: z.string().optional().meta({ description: "ML-DSA-65, base64url; with PQC_TOKEN_DELIVERY=self-contained only." }),
    pqc_alg: z.string().optional(),
  })
  .meta({ id: "TokenResponse" });

export const IntrospectForm = z
  .object({ token: z.string(), token_type_hint: z.string().optional(), ...credential })
  .meta({ id: "IntrospectionRequest" });

export const IntrospectAnswer = z
  .object({
    active: z.boolean(),
    sub: z.string().optional(),
    client_id: z.string().optional(),
    scope: scope.optional(),
    aud: z.union([z.string(), z.array(z.string())]).optional(),
    iss: z.string().optional(),
    exp: moment.optional(),
    iat: moment.optional(),
    token_type: z.literal("Bearer").optional(),
    act: z
      .looseObject({ sub: z.string() })
      .optional()
      .meta({ description: "The current actor; earlier ones are nested in its own `act`." }),
    pqc_signature: z.string().optional(),
    pqc_alg: z.string().optional(),
  })
  .meta({ id: "IntrospectionResponse", description: "Of a token that is not active nothing but `active` is told." });

export const RevokeForm = z
  .object({ token: z.string(), token_type_hint: z.enum(["access_token", "refresh_token"]).optional(), ...credential })
  .meta({ id: "RevocationRequest" });

export const Userinfo = z
  .object({
    sub: z.string(),
    email: z.email().optional().meta({ example: "person@example.test" }),
    email_verified: z.literal(true).optional(),
  })
  .meta({ id: "UserInfo" });

export const RegistrationBody = RegistrationRequest.meta({ id: "ClientRegistrationRequest" });

export const RegistrationAnswer = z
  .object({
    client_id: z.string(),
    client_id_issued_at: moment,
    client_secret: z.string().optional().meta({ description: "Confidential clients only; shown this once." }),
    client_secret_expires_at: z.literal(0).optional(),
    client_name: z.string(),
    redirect_uris: z.array(z.string()),
    grant_types: z.array(z.string()),
    response_types: z.array(z.literal("code")),
    token_endpoint_auth_method: z.enum(["client_secret_basic", "client_secret_post", "none"]),
    scope,
  })
  .meta({ id: "ClientRegistrationResponse" });

export const AuthorizeQuery = z.object({
  response_type: z.literal("code"),
  client_id: z.string(),
  redirect_uri: z.string(),
  code_challenge: z.string(),
  code_challenge_method: z.literal("S256"),
  scope: scope.optional(),
  state: z.string().optional(),
  nonce: z.string().optional(),
  resource,
  prompt: z.string().optional(),
  max_age: z.string().optional(),
  login_hint: z.string().optional(),
  id_token_hint: z.string().optional(),
});

export const ServerMetadata = z
  .looseObject({ issuer: z.url(), authorization_endpoint: z.url(), token_endpoint: z.url(), jwks_uri: z.url() })
  .meta({ id: "ServerMetadata", description: "RFC 8414 §2 and OpenID Connect Discovery §3." });

export const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string() })) }).meta({ id: "JwkSet" });

const connectivity = z.enum(["connected", "disconnected"]);
export const Health = z
  .object({
    status: z.enum(["ok", "degraded", "error", "draining"]),
    services: z.object({ database: connectivity, redis: connectivity, core: connectivity }),
  })
  .meta({ id: "Health" });

export const Liveness = z.object({ status: z.literal("ok") }).meta({ id: "Liveness" });
export const ApiDescription = z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }).meta({ id: "ApiDescription" });
