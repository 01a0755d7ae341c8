import { describe, expect, test } from "vitest";
import { parseRegistrationRequest, registrableMetadata } from "../../../src/clients/registration.ts";
import { refusalText } from "../../support/builders.ts";

const allowedScopes = ["openid", "profile", "email", "offline_access"];
const register = (json: unknown, scopeMode: "registered" | "realm" = "registered") =>
  registrableMetadata(parseRegistrationRequest(json), { allowedScopes, scopeMode });

const redirect_uris = ["https://c.example/cb"];
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const DEFAULTS = {
  name: undefined,
  redirectUris: redirect_uris,
  grantTypes: ["authorization_code"],
  responseTypes: ["code"],
  tokenEndpointAuthMethod: "client_secret_basic",
  scopes: allowedScopes,
};

describe("metadata kept by dynamic registration", () => {
  test.for([
    ["the defaults of RFC 7591", {}, {}],
    ["the name", { client_name: "n" }, { name: "n" }],
    ["each redirect URI once", { redirect_uris: [...redirect_uris, ...redirect_uris] }, {}],
    [
      "grants, each once",
      { grant_types: ["authorization_code", "refresh_token", "refresh_token"] },
      { grantTypes: ["authorization_code", "refresh_token"] },
    ],
    ["method none", { token_endpoint_auth_method: "none" }, { tokenEndpointAuthMethod: "none" }],
    ["method client_secret_post", { token_endpoint_auth_method: "client_secret_post" }, { tokenEndpointAuthMethod: "client_secret_post" }],
    ["neither private_key_jwt nor keys", { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [] }, jwks_uri: 7 }, {}],
    ["no jwt-bearer grant", { grant_types: ["authorization_code", JWT_BEARER] }, {}],
    [
      "no member that only operators may set",
      { is_agent: true, environment: "development", audience: ["x"], application_type: 5, enabled: false },
      {},
    ],
    ["the scopes that the realm allows", { scope: "email admin openid" }, { scopes: ["openid", "email"] }],
    ["all scopes where none is allowed", { scope: "admin" }, {}],
    ["all scopes where none is requested", { scope: "" }, {}],
    [
      "a client of client_credentials",
      { redirect_uris: undefined, grant_types: ["client_credentials"] },
      { redirectUris: [], grantTypes: ["client_credentials"], responseTypes: [], scopes: ["profile", "email"] },
    ],
    [
      "client_credentials alone without the scopes about a user",
      { grant_types: ["client_credentials"], scope: "openid email offline_access" },
      { grantTypes: ["client_credentials"], responseTypes: [], scopes: ["email"] },
    ],
    [
      "client_credentials beside codes with the scopes about a user",
      { grant_types: ["client_credentials", "authorization_code"], scope: "openid email" },
      { grantTypes: ["client_credentials", "authorization_code"], scopes: ["openid", "email"] },
    ],
    ["the redirect URIs that are permitted", { redirect_uris: ["http://c.example/cb", ...redirect_uris, "javascript:x"] }, {}],
    [
      "no private-use scheme without a dot for a confidential client",
      { redirect_uris: ["cursor://cb", "com.example:/cb"] },
      { redirectUris: ["com.example:/cb"] },
    ],
    [
      "a private-use scheme without a dot for a public client",
      { redirect_uris: ["cursor://cb"], token_endpoint_auth_method: "none" },
      { redirectUris: ["cursor://cb"], tokenEndpointAuthMethod: "none" },
    ],
    [
      "the defaults where members are null",
      { client_name: null, grant_types: null, response_types: null, token_endpoint_auth_method: null, scope: null, jwks: null },
      {},
    ],
    ["loopback of a native client", { redirect_uris: ["http://localhost/cb"] }, { redirectUris: ["http://localhost/cb"] }],
  ] as const)("%s", ([, request, expected]) => {
    expect(register({ redirect_uris, ...request })).toEqual({ ...DEFAULTS, ...expected });
  });

  test("a client gets the requested scopes that resources offer, besides those of the realm", () => {
    const registered = (scope: string, scopeMode: "registered" | "realm") =>
      registrableMetadata(parseRegistrationRequest({ redirect_uris, scope }), { allowedScopes, offeredScopes: ["crm:read"], scopeMode })
        .scopes;
    expect(registered("email crm:read crm:write", "registered")).toEqual(["email", "crm:read"]);
    expect(registered("crm:write", "registered")).toEqual(allowedScopes);
    expect(registered("crm:read", "realm")).toEqual([...allowedScopes, "crm:read"]);
  });

  test("the response type code is ignored for the device grant without the authorization code", () => {
    const deviceGrants = ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"];
    const kept = register({ grant_types: deviceGrants, response_types: ["code"], token_endpoint_auth_method: "none" });
    expect(kept).toMatchObject({ grantTypes: deviceGrants, responseTypes: [] });
  });

  test("with DYNAMIC_CLIENT_SCOPE=realm, a client gets all scopes of the realm", () => {
    expect(register({ redirect_uris, scope: "email" }, "realm").scopes).toEqual(allowedScopes);
  });

  test.for([
    [{ redirect_uris: undefined }, "invalid_redirect_uri redirect_uri_missing"],
    [{ redirect_uris: [] }, "invalid_redirect_uri redirect_uri_missing"],
    [{ redirect_uris: "https://c.example/cb" }, "invalid_redirect_uri malformed_redirect_uris"],
    [{ redirect_uris: [7] }, "invalid_redirect_uri malformed_redirect_uris"],
    [{ redirect_uris: null }, "invalid_redirect_uri redirect_uri_missing"],
    [{ redirect_uris: [null] }, "invalid_redirect_uri malformed_redirect_uris"],
    [{ redirect_uris: ["https://c.example/cb?c%6Fde=1", "cursor://cb"] }, "invalid_redirect_uri redirect_uri_forbidden"],
    [{ redirect_uris: ["javascript:alert(1)"], grant_types: ["client_credentials"] }, "invalid_redirect_uri redirect_uri_forbidden"],
    [{ redirect_uris: Array.from({ length: 11 }, (_, i) => `https://c.example/${i}`) }, "invalid_redirect_uri malformed_redirect_uris"],
    [{ redirect_uris: [`https://c.example/${"x".repeat(2000)}`] }, "invalid_redirect_uri malformed_redirect_uris"],
    [{ redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri redirect_uri_forbidden"],
    [{ redirect_uris: ["https://localhost/cb"] }, "invalid_redirect_uri redirect_uri_forbidden"],
    [{ redirect_uris: ["https://c.example/cb#f"] }, "invalid_redirect_uri redirect_uri_forbidden"],
    [{ grant_types: [] }, "invalid_client_metadata no_grant"],
    [{ grant_types: [JWT_BEARER] }, "invalid_client_metadata no_grant"],
    [{ grant_types: ["implicit"] }, "invalid_client_metadata grant_not_registrable"],
    [{ grant_types: ["urn:ietf:params:oauth:grant-type:token-exchange"] }, "invalid_client_metadata grant_not_registrable"],
    [{ grant_types: "authorization_code" }, "invalid_client_metadata malformed_metadata"],
    [{ grant_types: ["refresh_token"] }, "invalid_client_metadata refresh_token_alone"],
    [{ grant_types: ["refresh_token", JWT_BEARER] }, "invalid_client_metadata refresh_token_alone"],
    [
      { grant_types: ["client_credentials"], token_endpoint_auth_method: "none" },
      "invalid_client_metadata client_credentials_without_credential",
    ],
    [
      { grant_types: ["authorization_code", "client_credentials"], token_endpoint_auth_method: "none" },
      "invalid_client_metadata client_credentials_without_credential",
    ],
    [{ response_types: ["token"] }, "invalid_client_metadata response_type_unknown"],
    [{ response_types: [] }, "invalid_client_metadata response_types_inconsistent"],
    [{ grant_types: ["client_credentials"], response_types: ["code"] }, "invalid_client_metadata response_types_inconsistent"],
    [{ token_endpoint_auth_method: "client_secret_jwt" }, "invalid_client_metadata auth_method_not_registrable"],
    [{ token_endpoint_auth_method: 5 }, "invalid_client_metadata malformed_metadata"],
    [{ client_name: "" }, "invalid_client_metadata malformed_metadata"],
    [{ client_name: "x".repeat(256) }, "invalid_client_metadata malformed_metadata"],
    [{ scope: ["openid"] }, "invalid_client_metadata malformed_metadata"],
  ] as const)("%j is refused", ([request, expected]) => {
    expect(refusalText(() => register({ redirect_uris, ...request }))).toBe(expected);
  });

  test.for([[null], [[]], ["x"], [7]] as const)("%j is refused as malformed metadata", ([json]) => {
    expect(refusalText(() => register(json))).toBe("invalid_client_metadata malformed_metadata");
  });
});

test("RFC 9449 §5.2: a client can register that its tokens are bound to a key", () => {
  expect(register({ redirect_uris, dpop_bound_access_tokens: true }).dpopBoundAccessTokens).toBe(true);
  expect(register({ redirect_uris, dpop_bound_access_tokens: false })).not.toHaveProperty("dpopBoundAccessTokens");
});

test("RFC 9126 §6: a client can register that its requests must be pushed", () => {
  const pushing = register({ redirect_uris, require_pushed_authorization_requests: true });
  expect(pushing.requirePushedAuthorizationRequests).toBe(true);
  const plain = register({ redirect_uris, require_pushed_authorization_requests: false });
  expect(plain).not.toHaveProperty("requirePushedAuthorizationRequests");
});
