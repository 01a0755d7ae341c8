import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../../src/clients/client.ts";
import { clientOfDocument } from "../../../src/clients/metadata-document.ts";
import { matchesRedirectUri } from "../../../src/clients/redirect-uri.ts";
import { refusalOf } from "../../support/builders.ts";
import { PUBLISHED } from "../../support/client-documents.ts";

const URL_ = "https://client.example.test/doc";
const POLICY = { realmId: "01900000-0000-7000-8000-000000000002", allowedScopes: ["openid", "email", "notes:read"], now: 1_000 };
const KEY = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };

const aDocument = (members: Record<string, unknown> = {}) => ({
  client_id: URL_,
  client_name: "A client",
  redirect_uris: ["https://client.example.test/cb"],
  ...members,
});
const clientOf = (members: Record<string, unknown> = {}) => clientOfDocument(aDocument(members), URL_, POLICY);
const reasonOf = (document: unknown, url = URL_) => refusalOf(() => clientOfDocument(document, url, POLICY));

describe("the client that a document describes", () => {
  test("CIMD §4.1: a minimal document yields the defaults", () => {
    expect(DEFAULT_SETTINGS).toMatchObject({
      ...{ ownerId: null, description: null, environment: null, enabled: true, isAgent: false, maxAgentMode: null, audience: null },
      ...{ postLogoutRedirectUris: [], backchannelLogoutUri: null, backchannelLogoutSessionRequired: false, jwks: null, jwksUri: null },
      ...{ dpopBoundAccessTokens: false, requirePushedAuthorizationRequests: false, securityProfile: null },
    });
    expect(clientOf()).toEqual({
      ...DEFAULT_SETTINGS,
      id: URL_,
      clientId: URL_,
      realmId: POLICY.realmId,
      origin: "metadata_document",
      name: "A client",
      redirectUris: ["https://client.example.test/cb"],
      scopes: POLICY.allowedScopes,
      grantTypes: ["authorization_code"],
      responseTypes: ["code"],
      tokenEndpointAuthMethod: "none",
      alternativeAuthMethods: [],
      secretHash: null,
      createdAt: 1_000,
      updatedAt: null,
      lastUsedAt: null,
    });
  });

  test.for([true, false, undefined, "true"])("RFC 9126 §6: it must push its requests if the member is true: %j", (member) => {
    const { requirePushedAuthorizationRequests } = clientOf({ require_pushed_authorization_requests: member });
    expect(requirePushedAuthorizationRequests).toBe(member === true);
  });

  test.for([true, false, undefined, "true"])("RFC 9449 §5.2: its tokens are bound if the member is true: %j", (member) => {
    expect(clientOf({ dpop_bound_access_tokens: member }).dpopBoundAccessTokens).toBe(member === true);
  });

  test("members that only operators may set are ignored", () => {
    const client = clientOf({
      is_agent: true,
      environment: "development",
      audience: ["https://crm.example.test"],
      owner_id: "x",
      security_profile: "fapi2",
      enabled: false,
    });
    expect(client).toEqual(clientOf());
  });

  test.for([
    ["openid notes:read", ["openid", "notes:read"]],
    ["notes:read crm:admin", ["notes:read"]],
    ["crm:admin", []],
    ["", []],
  ] as const)("scope %j narrows the realm's allowed scopes to %j", ([scope, expected]) => {
    expect(clientOf({ scope }).scopes).toEqual(expected);
  });

  test.for([
    [["authorization_code"], ["authorization_code"]],
    [
      ["refresh_token", "authorization_code"],
      ["authorization_code", "refresh_token"],
    ],
    [["authorization_code", "client_credentials", "urn:example:own"], ["authorization_code"]],
    [["authorization_code", "urn:ietf:params:oauth:grant-type:token-exchange"], ["authorization_code"]],
    [["authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer"], ["authorization_code"]],
  ] as const)("of the grants %j the client gets %j", ([grant_types, expected]) => {
    expect(clientOf({ grant_types }).grantTypes).toEqual(expected);
  });

  test("redirect URIs that are not permitted are left out", () => {
    const redirect_uris = [
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "javascript:alert(1)",
      "http://evil.example/cb",
      "http://127.0.0.1/cb?co%64e=x",
      "http://127.0.0.1/cb",
    ];
    expect(clientOf({ redirect_uris }).redirectUris).toEqual([redirect_uris[0], "http://127.0.0.1/cb"]);
    expect(clientOf({ redirect_uris, jwks: { keys: [KEY] } }).redirectUris).toEqual(["http://127.0.0.1/cb"]);
  });

  test("null means absent", () => {
    expect(clientOf({ jwks: null, jwks_uri: null, client_secret: null, scope: null })).toEqual(clientOf());
  });
});

describe("authentication methods of a metadata document's client (docs/protocol.md#metadata-documents)", () => {
  const jwks = { keys: [KEY] };
  const jwks_uri = "https://client.example.test/keys";
  const spiffe = { spiffe_id: "spiffe://acme.example/agents/desk", spiffe_bundle_endpoint: "https://client.example.test/bundle" };
  const named = (method: string) => ({ token_endpoint_auth_method: method });
  const listed = (...methods: string[]) => ({ token_endpoint_auth_methods_supported: methods });

  test.for([
    ["no method", {}, "none", []],
    ["no method, keys published", { jwks }, "private_key_jwt", []],
    ["none named", named("none"), "none", []],
    ["none named, keys published: an assertion is verified too", { ...named("none"), jwks_uri }, "none", ["private_key_jwt"]],
    ["private_key_jwt named", { ...named("private_key_jwt"), jwks_uri }, "private_key_jwt", []],
    [
      "private_key_jwt named, both listed",
      { ...named("private_key_jwt"), ...listed("none", "private_key_jwt"), jwks_uri },
      "none",
      ["private_key_jwt"],
    ],
    ["spiffe_jwt named", { ...named("spiffe_jwt"), ...spiffe }, "workload_jwt", []],
    ["a SPIFFE ID and keys", { ...spiffe, jwks }, "private_key_jwt", ["workload_jwt"]],
    ["a SPIFFE ID and an empty JWK Set", { ...spiffe, jwks: { keys: [] } }, "private_key_jwt", ["workload_jwt"]],
    ["both listed", { ...listed("none", "private_key_jwt"), jwks }, "none", ["private_key_jwt"]],
    ["both listed, no keys", listed("none", "private_key_jwt"), "none", []],
    ["private_key_jwt listed", { ...listed("private_key_jwt"), jwks }, "private_key_jwt", []],
    ["a secret listed beside none", listed("none", "client_secret_basic"), "none", []],
  ] as const)("%s", ([, members, method, alternatives]) => {
    const { tokenEndpointAuthMethod, alternativeAuthMethods } = clientOf(members);
    expect([tokenEndpointAuthMethod, alternativeAuthMethods]).toEqual([method, alternatives]);
  });

  test.for([
    ["private_key_jwt without keys", named("private_key_jwt"), "document_without_keys"],
    ["private_key_jwt with an empty JWK Set", { ...named("private_key_jwt"), jwks: { keys: [] } }, "document_without_keys"],
    ["an empty JWK Set without a method", { jwks: { keys: [] } }, "document_without_keys"],
    ["private_key_jwt listed without keys", listed("private_key_jwt"), "document_method_not_possible"],
    ["client_secret_basic", named("client_secret_basic"), "document_method_not_possible"],
    ["client_secret_post", named("client_secret_post"), "document_method_not_possible"],
    ["client_secret_jwt", named("client_secret_jwt"), "document_method_not_possible"],
    ["tls_client_auth", named("tls_client_auth"), "document_method_not_possible"],
    ["only secrets listed", listed("client_secret_post"), "document_method_not_possible"],
    ["a method that is a list", { token_endpoint_auth_method: ["none"] }, "document_method_not_possible"],
    ["a list of methods with a number", { token_endpoint_auth_methods_supported: ["none", 1] }, "document_methods_malformed"],
    ["spiffe_jwt without a SPIFFE ID", { ...named("spiffe_jwt"), jwks }, "document_without_keys"],
    ["a SPIFFE ID alone", { spiffe_id: spiffe.spiffe_id }, "document_bundle_endpoint_malformed"],
    ["a bundle endpoint alone", { spiffe_bundle_endpoint: spiffe.spiffe_bundle_endpoint }, "document_spiffe_id_malformed"],
    ["a SPIFFE ID that is none", { ...spiffe, spiffe_id: "https://acme.example/desk" }, "document_spiffe_id_malformed"],
    [
      "a bundle over plain http",
      { ...spiffe, spiffe_bundle_endpoint: "http://client.example.test/b" },
      "document_bundle_endpoint_malformed",
    ],
    ["a bundle of another host", { ...spiffe, spiffe_bundle_endpoint: "https://evil.example/b" }, "document_bundle_of_another_host"],
    ["a list of methods that is not an array", { token_endpoint_auth_methods_supported: "none" }, "document_methods_malformed"],
    ["both key sources", { jwks, jwks_uri }, "document_with_two_key_sources"],
  ] as const)("refused: %s", ([, members, reason]) => {
    expect(reasonOf(aDocument(members))).toEqual(["invalid_client", reason]);
  });
});

describe("invalid documents", () => {
  const jwks = (members: object) => ({ jwks: { keys: [{ ...KEY, ...members }] } });

  test.for([
    ["an array", [aDocument()], "document_not_an_object"],
    ["a text", "x", "document_not_an_object"],
    ["null", null, "document_not_an_object"],
    ["no client_id", aDocument({ client_id: undefined }), "document_of_another_client"],
    ["abuse 57: a client_id that differs by one character", aDocument({ client_id: `${URL_}s` }), "document_of_another_client"],
    [
      "a client_id that is equal after normalization",
      aDocument({ client_id: "https://client.example.test:443/doc" }),
      "document_of_another_client",
    ],
    ["a client_id in a different case", aDocument({ client_id: "https://Client.example.test/doc" }), "document_of_another_client"],
    ["a secret", aDocument({ client_secret: "s" }), "document_with_secret"],
    ["the expiry of a secret", aDocument({ client_secret_expires_at: 0 }), "document_with_secret"],
    ["no name", aDocument({ client_name: undefined }), "document_name_malformed"],
    ["an empty name", aDocument({ client_name: " " }), "document_name_malformed"],
    ["a name with a bidirectional override", aDocument({ client_name: "a\u202eb" }), "document_name_malformed"],
    ["a name that is not a string", aDocument({ client_name: 7 }), "document_name_malformed"],
    ["a name that is too long", aDocument({ client_name: "x".repeat(256) }), "document_name_malformed"],
    ["no redirect URIs", aDocument({ redirect_uris: undefined }), "document_redirects_malformed"],
    ["an empty list of redirect URIs", aDocument({ redirect_uris: [] }), "document_without_redirect"],
    ["redirect URIs that are not a list", aDocument({ redirect_uris: "https://client.example.test/cb" }), "document_redirects_malformed"],
    ["redirect URIs that are not permitted", aDocument({ redirect_uris: ["http://evil.example/cb"] }), "document_without_redirect"],
    ["no code grant", aDocument({ grant_types: ["client_credentials"] }), "document_without_code_grant"],
    ["grants that are not a list", aDocument({ grant_types: "authorization_code" }), "document_grants_malformed"],
    ["no code response", aDocument({ response_types: ["token"] }), "document_without_code_response"],
    ["a scope that is not a string", aDocument({ scope: ["openid"] }), "document_scope_malformed"],
    ["a scope outside the grammar", aDocument({ scope: 'a"b' }), "document_scope_malformed"],
    ["keys that are not a JWK Set", aDocument({ jwks: [KEY] }), "document_keys_malformed"],
    ["a private key", aDocument(jwks({ d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A" })), "document_keys_malformed"],
    ["a symmetric key", aDocument({ jwks: { keys: [KEY, { kty: "oct", k: "c2VjcmV0" }] } }), "document_keys_malformed"],
    ["a private ML-DSA key", aDocument(jwks({ kty: "AKP", priv: "x" })), "document_keys_malformed"],
    ["a jwks_uri over plain http", aDocument({ jwks_uri: "http://client.example.test/keys" }), "document_keys_uri_malformed"],
    ["a jwks_uri with a fragment", aDocument({ jwks_uri: "https://client.example.test/keys#x" }), "document_keys_uri_malformed"],
    ["a jwks_uri with a password", aDocument({ jwks_uri: "https://:a@client.example.test/keys" }), "document_keys_uri_malformed"],
    ["a jwks_uri with userinfo", aDocument({ jwks_uri: "https://a@client.example.test/keys" }), "document_keys_uri_malformed"],
    ["a jwks_uri that is not a string", aDocument({ jwks_uri: 7 }), "document_keys_uri_malformed"],
  ] as const)("%s", ([, document, reason]) => {
    expect(reasonOf(document)).toEqual(["invalid_client", reason]);
  });
});

describe("documents of current clients", () => {
  const of = (document: { client_id: string }) => clientOfDocument(document, document.client_id, POLICY);

  test("Claude Code is public, with any loopback port on both of its hosts", () => {
    const client = of(PUBLISHED.claudeCode);
    expect(client).toMatchObject({ tokenEndpointAuthMethod: "none", grantTypes: ["authorization_code", "refresh_token"] });
    const matches = (uri: string) => matchesRedirectUri(client.redirectUris, uri);
    expect([matches("http://localhost:52163/callback"), matches("http://127.0.0.1:52163/callback")]).toEqual([true, true]);
    expect([matches("http://[::1]:52163/callback"), matches("http://localhost:52163/other")]).toEqual([false, false]);
  });

  test("ChatGPT has a jwks_uri, and is also public in one of its forms", () => {
    expect(of(PUBLISHED.chatGptApp)).toMatchObject({
      tokenEndpointAuthMethod: "private_key_jwt",
      alternativeAuthMethods: [],
      jwksUri: "https://chatgpt.com/oauth/jwks.json",
    });
    expect(of(PUBLISHED.chatGpt)).toMatchObject({ tokenEndpointAuthMethod: "none", alternativeAuthMethods: ["private_key_jwt"] });
  });

  test("VS Code has the device grant and both of its redirect URIs", () => {
    expect(of(PUBLISHED.vsCode)).toMatchObject({
      grantTypes: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      redirectUris: ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
    });
  });

  test("opencode is public, with a loopback redirect URI without a port", () => {
    expect(of(PUBLISHED.openCode)).toMatchObject({ tokenEndpointAuthMethod: "none", redirectUris: PUBLISHED.openCode.redirect_uris });
  });
});
