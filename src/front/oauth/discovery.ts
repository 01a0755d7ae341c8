import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { advertisedMethods, CLIENT_ASSERTION_ALGORITHMS } from "../../clients/client.ts";
import type { Realms } from "../../clients/ports.ts";
import { type Clock, secondsSince } from "../../clock.ts";
import { shared } from "../../load-once.ts";
import { ACR_VALUES } from "../../protocol/authentication-context.ts";
import { DEVICE_CODE, type GrantType, JWT_BEARER, TOKEN_EXCHANGE } from "../../protocol/grants.ts";
import type { OfferedScopes } from "../../resources/ports.ts";
import { LANGUAGES } from "../../texts/languages.ts";
import { apiErrorPrinter, prepareDocument, sendDocument } from "../http/answers.ts";
import { json, lazily } from "../http/describe.ts";
import type { Route } from "../http/routes.ts";

const CACHING = "public, max-age=300";
/** Seconds for which the realm's scopes are cached; clients may keep the document longer anyway. */
const FRESH = 1;
/** Seconds before a realm that did not answer is asked again. */
const PAUSE = 3;
/** Milliseconds that a request waits for the realm. */
const PATIENCE = 500;
/** Of introspection and revocation requests. */
const SECRET_METHODS = ["client_secret_basic", "client_secret_post"];

export interface DiscoveryOptions {
  /** JWT_ISSUER, without a trailing slash; every URL is built from it alone. */
  readonly issuer: string;
  readonly idTokenAlgorithms: readonly string[];
  readonly cimdEnabled: boolean;
  /** REQUIRE_PAR */
  readonly requirePushedRequests: boolean;
  readonly realms: Pick<Realms, "default">;
  readonly resources: OfferedScopes;
  /** Whether clients may authenticate by the tokens of platforms: whether an operator trusts one. */
  readonly trustsPlatforms: () => Promise<boolean>;
  /** DEFAULT_DYNAMIC_REGISTRATION_SCOPES: for a realm without its own list. */
  readonly defaultScopes: readonly string[];
  readonly clock: Clock;
  /** The grants that are served: the same list that the token endpoint reads. jwt-bearer is among them while ID_JAG_ENABLED. */
  readonly grantTypes: readonly GrantType[];
}

/** What operators may change while the server runs. */
interface Stored {
  readonly scopes: readonly string[];
  readonly trustsPlatforms: boolean;
}

/** Both discovery documents, at each path where clients look for them. @see RFC 8414 §3.1, OIDC Discovery §4, docs/protocol.md#discovery */
export function discoveryRoutes(options: DiscoveryOptions): readonly Route[] {
  const { issuer } = options;
  const stored = storedFacts(options);
  const issuerPath = new URL(issuer).pathname.replace(/\/$/, "");
  const serve = (path: string, summary: string, metadata: (options: DiscoveryOptions, stored: Stored) => object): Route => {
    const prepare = (from: Stored) => ({ from, document: prepareDocument(JSON.stringify(metadata(options, from)), "application/json") });
    let made = prepare({ scopes: options.defaultScopes, trustsPlatforms: false });
    return {
      method: "GET",
      path: issuerPath === "" ? path : [path, path + issuerPath],
      hot: true,
      cors: true,
      essential: true,
      print: apiErrorPrinter(issuer),
      openapi: () => ({
        tags: ["Discovery"],
        summary,
        security: [],
        responses: { "200": json("The document; cacheable.", ServerMetadata()), "304": { description: "Not changed." } },
      }),
      async answer(ctx) {
        const current = await stored();
        if (current !== made.from) made = prepare(current);
        sendDocument(ctx, made.document, CACHING);
      },
    };
  };
  return [
    serve("/.well-known/oauth-authorization-server", "Authorization server metadata (RFC 8414)", authorizationServerMetadata),
    serve("/.well-known/openid-configuration", "OpenID provider metadata", openidConfiguration),
  ];
}

/**
 * The scopes that a client may register for itself and those of all resources, in the default realm, and whether a platform is trusted; at
 * most a second old. While the database does not answer, the last facts are served and one request in PAUSE seconds waits for it. Unchanged
 * facts are the same object as before.
 */
function storedFacts({ realms, resources, trustsPlatforms, defaultScopes, clock }: DiscoveryOptions): () => Promise<Stored> {
  let facts: Stored = { scopes: defaultScopes, trustsPlatforms: false };
  let [readAt, freshFor] = [Number.NEGATIVE_INFINITY, 0];
  const read = async (): Promise<Stored> => {
    const [{ id, dynamicRegistrationScopes }, trusts] = await Promise.all([realms.default(), trustsPlatforms()]);
    const scopes = [...new Set([...(dynamicRegistrationScopes ?? defaultScopes), ...(await resources.offered(id))])];
    return { scopes, trustsPlatforms: trusts };
  };
  const look = shared(async () => {
    const late = setTimeout(PATIENCE, undefined, { ref: false });
    const current = await Promise.race([read(), late]).catch(() => undefined);
    if (current !== undefined && !isDeepStrictEqual(current, facts)) facts = current;
    [readAt, freshFor] = [clock(), current === undefined ? PAUSE : FRESH];
    return facts;
  });
  return async () => (secondsSince(clock, readAt) < freshFor ? facts : look());
}

const ServerMetadata = lazily(() =>
  z
    .looseObject({ issuer: z.url(), authorization_endpoint: z.url(), token_endpoint: z.url(), jwks_uri: z.url() })
    .meta({ id: "ServerMetadata", description: "RFC 8414 §2 and OpenID Connect Discovery §3." }),
);

const ID_JAG_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:id-jag";
const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

/** The authorization server's metadata. Lists come from the constants that the checks read. @see RFC 8414 §2, docs/protocol.md#discovery */
function authorizationServerMetadata(options: DiscoveryOptions, { scopes, trustsPlatforms }: Stored): Record<string, unknown> {
  const { issuer, cimdEnabled, grantTypes } = options;
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    ...(grantTypes.includes(DEVICE_CODE) && { device_authorization_endpoint: `${issuer}/oauth/device_authorization` }),
    pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
    require_pushed_authorization_requests: options.requirePushedRequests,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    ...(scopes.length > 0 && { scopes_supported: scopes }), // no empty list (RFC 8414 §3.2)
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: trustsPlatforms ? [...new Set([...grantTypes, JWT_BEARER])] : grantTypes,
    code_challenge_methods_supported: ["S256"],
    acr_values_supported: ACR_VALUES,
    token_endpoint_auth_methods_supported: advertisedMethods(trustsPlatforms, cimdEnabled),
    token_endpoint_auth_signing_alg_values_supported: CLIENT_ASSERTION_ALGORITHMS,
    dpop_signing_alg_values_supported: CLIENT_ASSERTION_ALGORITHMS,
    introspection_endpoint_auth_methods_supported: SECRET_METHODS,
    introspection_signing_alg_values_supported: ["EdDSA"],
    revocation_endpoint_auth_methods_supported: SECRET_METHODS,
    resource_indicators_supported: true,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: cimdEnabled,
    ui_locales_supported: LANGUAGES,
    ...(grantTypes.includes(TOKEN_EXCHANGE) && { identity_chaining_requested_token_types_supported: [ID_JAG_TOKEN_TYPE] }),
    ...(grantTypes.includes(JWT_BEARER) && { authorization_grant_profiles_supported: [ID_JAG_PROFILE] }),
  };
}

/** The same with what OpenID Connect adds. @see OIDC Discovery §3 */
const openidConfiguration = (options: DiscoveryOptions, stored: Stored): Record<string, unknown> => ({
  ...authorizationServerMetadata(options, stored),
  userinfo_endpoint: `${options.issuer}/oauth/userinfo`,
  end_session_endpoint: `${options.issuer}/logout`,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: options.idTokenAlgorithms,
  claims_supported: ["iss", "sub", "aud", "exp", "iat", "auth_time", "acr", "amr", "nonce", "sid", "name", "email", "email_verified"],
  claims_parameter_supported: false,
  request_parameter_supported: false,
  // An absent member would mean true.
  request_uri_parameter_supported: false,
});
