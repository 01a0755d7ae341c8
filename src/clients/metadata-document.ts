import { Refusal } from "../errors.ts";
import { parseScope } from "../protocol/access.ts";
import { displayNameFault } from "../protocol/display-name.ts";
import { DEVICE_CODE, type GrantType } from "../protocol/grants.ts";
import { type AuthMethod, type Client, DEFAULT_SETTINGS, type SpiffeWorkload } from "./client.ts";
import { asPublicKeySet, KEY_TYPES, keyFault, type PublishedKey } from "./public-keys.ts";
import { isPermittedRedirectUri, noRedirectUri } from "./redirect-uri.ts";
import { trustDomainOfPattern } from "./workload.ts";

/** What a document does not decide. */
export interface DocumentPolicy {
  readonly realmId: string;
  /** The realm's allowlist for dynamic clients. A document can only narrow it. */
  readonly allowedScopes: readonly string[];
  /** Seconds since the epoch. */
  readonly now: number;
}

type Members = Readonly<Record<string, unknown>>;

/** Grants of a document's client; all others are ignored (docs/protocol.md#clients). */
const DOCUMENT_GRANTS = ["authorization_code", "refresh_token", DEVICE_CODE] as const satisfies readonly GrantType[];

/** @param fault said to the client, which knows what it published */
const invalid = (reason: string, fault: string): never => {
  throw new Refusal("invalid_client", reason, { description: `The client metadata document is not acceptable: ${fault}.` });
};

/**
 * The client that a metadata document describes. Pure.
 * @param url the client_id, which is where the document was fetched
 * @throws {Refusal} invalid_client
 * @see draft-ietf-oauth-client-id-metadata-document §4, RFC 7591 §2, docs/protocol.md#metadata-documents
 */
export function clientOfDocument(document: unknown, url: string, policy: DocumentPolicy): Client {
  const members = membersOf(document);
  if (members.client_id !== url) invalid("document_of_another_client", "its client_id is not the URL that was sent as client_id");
  for (const secret of ["client_secret", "client_secret_expires_at"])
    if (secret in members) invalid("document_with_secret", `it must not have ${secret}`);
  const keys = keysOf(members);
  const spiffe = spiffeOf(members, url);
  const methods = methodsOf(members, keys.jwks !== null || keys.jwksUri !== null, spiffe !== undefined);
  const keysAlone = methods.tokenEndpointAuthMethod === "private_key_jwt" && (methods.alternativeAuthMethods ?? []).length === 0;
  if (keysAlone && asPublicKeySet(keys.jwks)?.length === 0) invalid("document_without_keys", "its jwks has no key");
  return {
    id: url, // there is no stored record
    clientId: url,
    realmId: policy.realmId,
    ...DEFAULT_SETTINGS,
    origin: "metadata_document",
    name: nameOf(members),
    redirectUris: redirectUrisOf(members, methods.tokenEndpointAuthMethod),
    scopes: scopesOf(members, policy.allowedScopes),
    grantTypes: grantsOf(members),
    responseTypes: responsesOf(members),
    ...methods,
    secretHash: null,
    dpopBoundAccessTokens: members.dpop_bound_access_tokens === true,
    requirePushedAuthorizationRequests: members.require_pushed_authorization_requests === true,
    ...keys,
    ...(spiffe && { spiffe }),
    createdAt: policy.now,
    updatedAt: null,
    lastUsedAt: null,
  };
}

/** The members that are set: null stands for absence. */
function membersOf(document: unknown): Members {
  if (typeof document !== "object" || document === null || Array.isArray(document))
    return invalid("document_not_an_object", "it is no JSON object");
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null));
}

function texts(value: unknown, name: string, reason: string): readonly string[] {
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === "string"))
    return invalid(reason, `${name} must be a list of strings`);
  return value;
}

function nameOf({ client_name: name }: Members): string {
  const fault = typeof name === "string" ? displayNameFault(name) : "must be a string";
  return fault === undefined ? (name as string) : invalid("document_name_malformed", `client_name ${fault}`);
}

/** Ignores forbidden redirect URIs: clients also list those for other servers, and an ignored one cannot be used. */
function redirectUrisOf({ redirect_uris: listed }: Members, tokenEndpointAuthMethod: AuthMethod): readonly string[] {
  const client = { environment: null, tokenEndpointAuthMethod };
  const named = texts(listed, "redirect_uris", "document_redirects_malformed");
  const permitted = named.filter((uri) => isPermittedRedirectUri(uri, client));
  return permitted.length === 0 ? invalid("document_without_redirect", noRedirectUri(named, client)) : [...new Set(permitted)];
}

function grantsOf({ grant_types: listed }: Members): readonly GrantType[] {
  const named = listed === undefined ? ["authorization_code"] : texts(listed, "grant_types", "document_grants_malformed");
  const grants = DOCUMENT_GRANTS.filter((grant) => named.includes(grant));
  return grants.includes("authorization_code")
    ? grants
    : invalid("document_without_code_grant", "grant_types must have authorization_code");
}

function responsesOf({ response_types: listed }: Members): readonly "code"[] {
  if (listed !== undefined && !texts(listed, "response_types", "document_responses_malformed").includes("code"))
    invalid("document_without_code_response", "response_types must have code");
  return ["code"];
}

function scopesOf({ scope }: Members, allowed: readonly string[]): readonly string[] {
  if (scope === undefined) return allowed;
  const named = parsedScope(scope);
  return allowed.filter((name) => named.includes(name));
}

function parsedScope(scope: unknown): readonly string[] {
  const malformed = () => invalid("document_scope_malformed", "scope must be a string of names that are separated by spaces");
  if (typeof scope !== "string") return malformed();
  try {
    return parseScope(scope);
  } catch {
    return malformed();
  }
}

const NO_KEY_SET = "jwks must be a JWK Set of public keys alone";
const NO_PLAIN_URL = "must be an https URL without user information and fragment";

function keysOf({ jwks, jwks_uri: jwksUri }: Members): Pick<Client, "jwks" | "jwksUri"> {
  if (jwks !== undefined && jwksUri !== undefined) return invalid("document_with_two_key_sources", "jwks and jwks_uri exclude each other");
  if (jwks !== undefined) assertUsableKeys(asPublicKeySet(jwks) ?? invalid("document_keys_malformed", NO_KEY_SET));
  if (jwksUri !== undefined && (typeof jwksUri !== "string" || !isKeysUri(jwksUri)))
    return invalid("document_keys_uri_malformed", `jwks_uri ${NO_PLAIN_URL}`);
  return { jwks: (jwks as Client["jwks"]) ?? null, jwksUri: jwksUri ?? null };
}

/** Keys of other types may be meant for other servers, and are ignored (RFC 7517 §5). */
function assertUsableKeys(keys: readonly PublishedKey[]): void {
  keys.forEach((key, index) => {
    const fault = KEY_TYPES.includes(key.kty) ? keyFault(key) : undefined;
    if (fault !== undefined) invalid("document_key_unusable", `jwks.keys.${index} ${fault}`);
  });
}

/** Checks the form only; the guarded fetch decides about the host. */
const isKeysUri = (uri: string): boolean => {
  const parsed = uri.startsWith("https://") ? URL.parse(uri) : null;
  return parsed !== null && parsed.username === "" && parsed.password === "" && !uri.includes("#");
};

/** The bundle is on the document's own host, for a document vouches for nothing else. @see draft-ietf-oauth-spiffe-client-auth §4.1 */
function spiffeOf({ spiffe_id: id, spiffe_bundle_endpoint: bundleEndpoint }: Members, url: string): SpiffeWorkload | undefined {
  if (id === undefined && bundleEndpoint === undefined) return undefined;
  if (typeof id !== "string" || trustDomainOfPattern(id) === undefined)
    return invalid("document_spiffe_id_malformed", "spiffe_id must be a SPIFFE ID");
  if (typeof bundleEndpoint !== "string" || !isKeysUri(bundleEndpoint))
    return invalid("document_bundle_endpoint_malformed", `spiffe_bundle_endpoint ${NO_PLAIN_URL}`);
  if (new URL(bundleEndpoint).host !== new URL(url).host)
    return invalid("document_bundle_of_another_host", "spiffe_bundle_endpoint must be on the host of the document");
  return { id, bundleEndpoint };
}

/** What a document may name as its method, and what that means here. */
const NAMED_METHODS: Readonly<Record<string, AuthMethod>> = {
  none: "none",
  private_key_jwt: "private_key_jwt",
  spiffe_jwt: "workload_jwt",
};
const METHOD_NAMES = Object.keys(NAMED_METHODS).join(", ");

/**
 * A client can use its published keys and its SPIFFE ID, and `none` if the document names or lists it, or if it has neither methods nor
 * keys.
 */
function methodsOf(
  members: Members,
  hasKeys: boolean,
  hasSpiffe: boolean,
): Pick<Client, "tokenEndpointAuthMethod" | "alternativeAuthMethods"> {
  const { token_endpoint_auth_method: named, token_endpoint_auth_methods_supported: listed } = members;
  const list = listed === undefined ? [] : texts(listed, "token_endpoint_auth_methods_supported", "document_methods_malformed");
  const keyed: readonly AuthMethod[] = [...(hasKeys ? ["private_key_jwt" as const] : []), ...(hasSpiffe ? ["workload_jwt" as const] : [])];
  const method = typeof named === "string" && Object.hasOwn(NAMED_METHODS, named) ? NAMED_METHODS[named] : undefined;
  const impossible = (fault: string) => invalid("document_method_not_possible", fault);
  if (named !== undefined && method === undefined) return impossible(`token_endpoint_auth_method may be ${METHOD_NAMES}`);
  if (method !== undefined && method !== "none" && !keyed.includes(method))
    return invalid("document_without_keys", `${named} needs ${method === "private_key_jwt" ? "jwks or jwks_uri" : "spiffe_id"}`);
  const open = method === "none" || list.includes("none") || (named === undefined && list.length === 0 && keyed.length === 0);
  const [first, ...others] = keyed;
  if (!open && first === undefined) return impossible("no method that it names can be used without jwks, jwks_uri or spiffe_id");
  // A client that may use `none` is public, whatever else it can do.
  return open || first === undefined
    ? { tokenEndpointAuthMethod: "none", alternativeAuthMethods: keyed }
    : { tokenEndpointAuthMethod: first, alternativeAuthMethods: others };
}
