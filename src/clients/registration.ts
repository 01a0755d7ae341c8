import { z } from "zod";
import { Refusal } from "../errors.ts";
import { DisplayName } from "../protocol/display-name.ts";
import { DEVICE_CODE, type GrantType, SELF_SERVICE_GRANT_TYPES, USER_GRANT_TYPES } from "../protocol/grants.ts";
import { issuesOf } from "../protocol/issue-messages.ts";
import { type AuthMethod, PERSONAL_SCOPES } from "./client.ts";
import { isObject } from "./public-keys.ts";
import { isPermittedRedirectUri, noRedirectUri } from "./redirect-uri.ts";

const words = z.array(z.string().max(200)).max(20);

/** The members of a registration request that are read (RFC 7591 §2). All others are ignored (docs/protocol.md#registration). */
export const RegistrationRequest = z.object({
  client_name: DisplayName.optional().meta({ description: "Shown to users who are asked for consent." }),
  redirect_uris: z
    .array(z.string().max(2000))
    .max(10)
    .optional()
    .meta({ description: "Required for the grant authorization_code.", example: ["https://client.example/callback"] }),
  grant_types: words.optional().meta({ description: `Of ${SELF_SERVICE_GRANT_TYPES.join(", ")}.` }),
  response_types: words.optional().meta({ description: "`code`, where authorization_code is among the grants." }),
  token_endpoint_auth_method: z.string().max(200).optional().meta({
    description:
      "`none`, `client_secret_basic` (default) or `client_secret_post`. A secret may be sent in the header or in the body, whichever is registered.",
  }),
  scope: z.string().max(8000).optional().meta({ description: "Space-separated; capped to what the realm allows." }),
  dpop_bound_access_tokens: z
    .boolean()
    .optional()
    .meta({ description: "Refuse token requests of the client without a proof (RFC 9449 §5.2)." }),
  require_pushed_authorization_requests: z
    .boolean()
    .optional()
    .meta({ description: "Refuse authorization requests of the client that were not pushed first (RFC 9126 §6)." }),
});
export type RegistrationRequest = z.infer<typeof RegistrationRequest>;

const withoutNulls = (members: object) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

/** Checks the grammar of a registration request. @throws {Refusal} invalid_redirect_uri, invalid_client_metadata @see RFC 7591 §3.2.2 */
export function parseRegistrationRequest(json: unknown): RegistrationRequest {
  const parsed = RegistrationRequest.safeParse(isObject(json) ? withoutNulls(json) : json);
  if (parsed.success) return parsed.data;
  const [fault] = issuesOf(parsed.error);
  const member = fault?.path.split(".")[0];
  const description = fault && member ? `${fault.path} ${fault.message}.` : "The body must be a JSON object.";
  if (member === "redirect_uris") throw new Refusal("invalid_redirect_uri", "malformed_redirect_uris", { description });
  throw new Refusal("invalid_client_metadata", "malformed_metadata", { description });
}

/** Methods that an open registration may choose; a request for private_key_jwt is ignored (docs/protocol.md#registration). */
export const REGISTRABLE_AUTH_METHODS = ["client_secret_basic", "client_secret_post", "none"] as const satisfies readonly AuthMethod[];

const STRIPPED_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const STRIPPED_METHOD = "private_key_jwt";

/** The metadata that an open registration may keep. */
export type RegistrableMetadata = ReturnType<typeof registrableMetadata>;

/** The scopes that the realm allows for dynamically registered clients. DYNAMIC_CLIENT_SCOPE: these get the requested ones, or all. */
export interface RegistrationPolicy {
  readonly allowedScopes: readonly string[];
  readonly scopeMode: "registered" | "realm";
  /** Scopes that resources offer to clients that register themselves: these get the requested ones. */
  readonly offeredScopes?: readonly string[];
}

/**
 * The metadata that open registration keeps of a request. Pure.
 * @throws {Refusal} invalid_redirect_uri, invalid_client_metadata
 * @see RFC 7591 §2, docs/protocol.md#registration
 */
export function registrableMetadata(request: RegistrationRequest, policy: RegistrationPolicy) {
  const grantTypes = registrableGrants(request.grant_types ?? ["authorization_code"]);
  const usesCode = grantTypes.includes("authorization_code");
  const tokenEndpointAuthMethod = registrableMethod(request.token_endpoint_auth_method);
  assertUsable(grantTypes, tokenEndpointAuthMethod);
  return {
    name: request.client_name,
    redirectUris: registrableRedirectUris(request.redirect_uris ?? [], usesCode, tokenEndpointAuthMethod),
    grantTypes,
    responseTypes: registrableResponses(request.response_types, grantTypes),
    tokenEndpointAuthMethod,
    scopes: registrableScopes(request.scope, grantTypes, policy),
    ...(request.dpop_bound_access_tokens === true && { dpopBoundAccessTokens: true }),
    ...(request.require_pushed_authorization_requests === true && { requirePushedAuthorizationRequests: true }),
  };
}

function registrableGrants(requested: readonly string[]): readonly GrantType[] {
  const kept = new Set<GrantType>();
  for (const name of requested) {
    if (name === STRIPPED_GRANT) continue;
    const grant = SELF_SERVICE_GRANT_TYPES.find((known) => known === name);
    if (grant === undefined) throw invalid("grant_not_registrable", "grant_types contains a grant that cannot be registered.");
    kept.add(grant);
  }
  if (kept.size === 0) throw invalid("no_grant", "grant_types leaves no grant.");
  return [...kept];
}

/** Ignores forbidden redirect URIs: clients also list those for other servers, and the response shows what was registered. */
function registrableRedirectUris(requested: readonly string[], needed: boolean, method: AuthMethod): readonly string[] {
  if (needed && requested.length === 0) {
    throw new Refusal("invalid_redirect_uri", "redirect_uri_missing", { description: "redirect_uris is required for authorization_code." });
  }
  const client = { environment: null, tokenEndpointAuthMethod: method };
  const permitted = requested.filter((uri) => isPermittedRedirectUri(uri, client));
  if (permitted.length === 0 && requested.length > 0) {
    throw new Refusal("invalid_redirect_uri", "redirect_uri_forbidden", {
      description: `${noRedirectUri(requested, client)}.`,
    });
  }
  return [...new Set(permitted)];
}

/** Ignores `code` of a device client: MCP hosts send it with whatever grants they have. */
function registrableResponses(requested: readonly string[] | undefined, grantTypes: readonly GrantType[]): readonly "code"[] {
  const usesCode = grantTypes.includes("authorization_code");
  const types = requested ?? (usesCode ? ["code"] : []);
  if (types.some((name) => name !== "code")) throw invalid("response_type_unknown", "response_types may contain code alone.");
  const isIgnored = !usesCode && grantTypes.includes(DEVICE_CODE);
  if (types.length > 0 !== usesCode && !isIgnored) throw invalid("response_types_inconsistent", "response_types does not fit grant_types.");
  return usesCode ? ["code"] : [];
}

function registrableMethod(requested: string | undefined): (typeof REGISTRABLE_AUTH_METHODS)[number] {
  if (requested === undefined || requested === STRIPPED_METHOD) return "client_secret_basic";
  const method = REGISTRABLE_AUTH_METHODS.find((known) => known === requested);
  if (method === undefined) throw invalid("auth_method_not_registrable", "token_endpoint_auth_method cannot be registered.");
  return method;
}

/** Refuses what no request could ever use (RFC 6749 §4.4 and §6). */
function assertUsable(grantTypes: readonly GrantType[], method: AuthMethod): void {
  if (grantTypes.every((grant) => grant === "refresh_token"))
    throw invalid("refresh_token_alone", "grant_types has refresh_token, but no grant that would issue one.");
  if (method === "none" && grantTypes.includes("client_credentials"))
    throw invalid("client_credentials_without_credential", "client_credentials does not go with token_endpoint_auth_method none.");
}

/** Drops forbidden scopes, and personal ones without a grant for users. A client that requested no permitted scope gets all of these. */
function registrableScopes(requested: string | undefined, grantTypes: readonly GrantType[], policy: RegistrationPolicy): readonly string[] {
  const hasUsers = grantTypes.some((grant) => USER_GRANT_TYPES.includes(grant));
  const allowed = policy.allowedScopes.filter((scope) => hasUsers || !PERSONAL_SCOPES.has(scope));
  if (requested === undefined) return allowed;
  const asked = new Set(requested.split(" "));
  const offered = (policy.offeredScopes ?? []).filter((scope) => asked.has(scope) && !allowed.includes(scope));
  if (policy.scopeMode === "realm") return [...allowed, ...offered];
  const kept = [...allowed.filter((scope) => asked.has(scope)), ...offered];
  return kept.length === 0 ? allowed : kept;
}

const invalid = (reason: string, description: string): Refusal => new Refusal("invalid_client_metadata", reason, { description });
