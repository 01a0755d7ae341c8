import { ACR_VALUES } from "./authentication-context.ts";
import { DEVICE_CODE, TOKEN_EXCHANGE } from "./grants.ts";

/** The variable content of the discovery documents. Lists come from the constants that the checks read. */
export interface MetadataFacts {
  /** JWT_ISSUER, without a trailing slash; every URL is built from it alone. */
  readonly issuer: string;
  readonly grantTypes: readonly string[];
  /** Whether identity assertions are among the jwt-bearer grants (ID_JAG_ENABLED). */
  readonly idJagEnabled: boolean;
  readonly authMethods: readonly string[];
  readonly assertionAlgorithms: readonly string[];
  /** Methods of introspection and revocation requests. */
  readonly secretMethods: readonly string[];
  readonly scopes: readonly string[];
  readonly idTokenAlgorithms: readonly string[];
  readonly cimdEnabled: boolean;
  /** REQUIRE_PAR */
  readonly requirePushedRequests: boolean;
  /** The languages of the pages, as BCP 47 tags. */
  readonly uiLocales: readonly string[];
}

const ID_JAG_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:id-jag";
const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

/** The authorization server's metadata. @see RFC 8414 §2, docs/protocol.md#discovery */
export function authorizationServerMetadata(facts: MetadataFacts): Record<string, unknown> {
  const { issuer } = facts;
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    ...(facts.grantTypes.includes(DEVICE_CODE) && { device_authorization_endpoint: `${issuer}/oauth/device_authorization` }),
    pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
    require_pushed_authorization_requests: facts.requirePushedRequests,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    ...listed("scopes_supported", facts.scopes),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: facts.grantTypes,
    code_challenge_methods_supported: ["S256"],
    acr_values_supported: ACR_VALUES,
    token_endpoint_auth_methods_supported: facts.authMethods,
    token_endpoint_auth_signing_alg_values_supported: facts.assertionAlgorithms,
    dpop_signing_alg_values_supported: facts.assertionAlgorithms,
    introspection_endpoint_auth_methods_supported: facts.secretMethods,
    introspection_signing_alg_values_supported: ["EdDSA"],
    revocation_endpoint_auth_methods_supported: facts.secretMethods,
    resource_indicators_supported: true,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: facts.cimdEnabled,
    ui_locales_supported: facts.uiLocales,
    ...(facts.grantTypes.includes(TOKEN_EXCHANGE) && { identity_chaining_requested_token_types_supported: [ID_JAG_TOKEN_TYPE] }),
    ...(facts.idJagEnabled && { authorization_grant_profiles_supported: [ID_JAG_PROFILE] }),
  };
}

/** The same with what OpenID Connect adds. @see OIDC Discovery §3 */
export const openidConfiguration = (facts: MetadataFacts): Record<string, unknown> => ({
  ...authorizationServerMetadata(facts),
  userinfo_endpoint: `${facts.issuer}/oauth/userinfo`,
  end_session_endpoint: `${facts.issuer}/logout`,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: facts.idTokenAlgorithms,
  claims_supported: ["iss", "sub", "aud", "exp", "iat", "auth_time", "acr", "amr", "nonce", "sid", "name", "email", "email_verified"],
  claims_parameter_supported: false,
  request_parameter_supported: false,
  // An absent member would mean true.
  request_uri_parameter_supported: false,
});

/** An empty list is left out (RFC 8414 §3.2). */
const listed = (name: string, values: readonly string[]) => (values.length === 0 ? {} : { [name]: values });
