import { isWebResource } from "../../protocol/access.ts";
import { type CheckResult, type Finding, fault, findingsAbout, ok, shown, warning } from "./finding.ts";
import { type Answer, type Json, stringsOf } from "./web.ts";

export interface ServerObservations {
  /** The issuer that clients expect. */
  readonly issuer: string;
  /** The metadata of RFC 8414, and that of OpenID Connect at either place. */
  readonly oauth: Answer;
  readonly openid: readonly Answer[];
  /** Undefined where the metadata names no usable address. */
  readonly keys: Answer | undefined;
  /** The response of the registration endpoint to a request that cannot register anything. */
  readonly registration: Answer | undefined;
  /** Whether it is a Countersign, whose settings can be named. */
  readonly countersign: boolean;
}

const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/** The metadata that a client uses. */
export const metadataOf = ({ oauth, openid }: Pick<ServerObservations, "oauth" | "openid">): Json | undefined =>
  [oauth, ...openid].find(isDocument)?.body;

const isDocument = ({ status, body }: Answer): boolean => status === 200 && body !== undefined;

/** Problems that clients of an authorization server will have. Pure. @see RFC 8414 §3.3, OAuth 2.1 §7.5, RFC 7517 §4 */
export function serverFindings(observations: ServerObservations, wantedScopes: readonly string[]): readonly Finding[] {
  const metadata = metadataOf(observations);
  const results =
    metadata === undefined
      ? [noMetadata(observations)]
      : [
          ...documentFindings(observations),
          ...endpointFindings(metadata),
          ...offerFindings(metadata),
          scopeFinding(metadata, wantedScopes, observations.countersign),
          ...keyFindings(metadata, observations.keys),
          ...registrationFindings(metadata, observations),
        ];
  return findingsAbout(`Authorization server ${shown(observations.issuer)}`, results);
}

function noMetadata({ oauth, openid }: ServerObservations): CheckResult {
  const tried = [oauth, ...openid].map(({ url, problem }) => `${shown(url)}: ${problem}`).join("; ");
  return fault("metadata", `serves no metadata (${tried})`, `serve it at ${oauth.url} (RFC 8414 §3)`);
}

function documentFindings({ issuer, oauth, openid, countersign }: ServerObservations): readonly CheckResult[] {
  const named = [oauth, ...openid].filter(isDocument).map(({ body }) => body?.issuer);
  const [first] = named;
  // JWT_ISSUER cannot end in a slash; resources and clients that add one have to drop it.
  const setting = countersign ? `JWT_ISSUER=${issuer}` : `the server's issuer to ${issuer}`;
  const changes = [
    ...(first === undefined ? [] : [`name ${shown(first)} in clients and in authorization_servers of resources`]),
    ...(countersign && issuer.endsWith("/") ? [] : [`set ${setting}`]),
  ];
  return [
    ...(isWebResource(issuer) ? [] : [fault("https", "is reached over plain http", "serve it over https, and use that URL in clients")]),
    isDocument(oauth)
      ? ok("metadata", "serves authorization server metadata")
      : warning("metadata", "serves OpenID Connect metadata alone", `serve it at ${oauth.url} too, where older MCP clients look`),
    first === issuer
      ? ok("issuer", `is the issuer ${shown(issuer)}`)
      : fault("issuer", `its issuer is ${shown(first)}: clients that expect ${shown(issuer)} reject its metadata`, changes.join(", or ")),
    ...(named.every((each) => each === first)
      ? []
      : [fault("issuer_agreement", "its metadata documents name different issuers", "let all of them name the same issuer")]),
  ];
}

function endpointFindings(metadata: Json): readonly CheckResult[] {
  const endpoints = ["authorization_endpoint", "token_endpoint"];
  const bad = endpoints.filter((name) => typeof metadata[name] !== "string" || !isWebResource(String(metadata[name])));
  if (bad.length === 0) return [ok("endpoints", "its endpoints are reached over https, or on this machine")];
  return bad.map((name) => fault("endpoints", `${name} is ${shown(metadata[name] ?? "missing")}`, `give an https URL as ${name}`));
}

/** Whether a list in the metadata has a value. @param standard the list that its absence stands for */
const lists = (metadata: Json, member: string, value: string, standard: readonly string[] = []): boolean =>
  (stringsOf(metadata[member]) ?? standard).includes(value);

const hasChallenges = (metadata: Json): boolean => lists(metadata, "code_challenge_methods_supported", "S256");

/** What MCP and OAuth 2.1 clients read from the metadata before they begin. */
function offerFindings(metadata: Json): readonly CheckResult[] {
  const found = [
    hasChallenges(metadata)
      ? ok("pkce", "offers PKCE with S256")
      : fault("pkce", "PKCE with S256 is not offered: MCP clients refuse to go on", "list S256 in code_challenge_methods_supported"),
    lists(metadata, "response_types_supported", "code")
      ? ok("code", "offers the authorization code")
      : fault("code", "the response type code is not offered", "list code in response_types_supported (RFC 8414 §2)"),
    lists(metadata, "grant_types_supported", "refresh_token", ["authorization_code", "implicit"])
      ? ok("refresh", "offers refresh tokens")
      : warning(
          "refresh",
          "refresh tokens are not offered: users sign in again at each expiry",
          "list refresh_token in grant_types_supported",
        ),
    lists(metadata, "token_endpoint_auth_methods_supported", "none", ["client_secret_basic"])
      ? ok("public_clients", "takes clients without a secret")
      : warning(
          "public_clients",
          "clients without a secret are not offered: desktop and command line hosts have none",
          "list none in token_endpoint_auth_methods_supported",
        ),
    metadata.authorization_response_iss_parameter_supported === true
      ? ok("iss", "names itself in authorization responses (RFC 9207)")
      : warning(
          "iss",
          "authorization responses do not name the issuer: clients of several servers can be confused",
          "send iss and set authorization_response_iss_parameter_supported (RFC 9207)",
        ),
  ];
  // No standard has a member for it, so that its absence says nothing.
  if (metadata.resource_indicators_supported === true) found.push(ok("resource", "limits tokens to a resource (RFC 8707)"));
  return found;
}

const RECORD_RESOURCE =
  "if the resource has a record, see what it lacks with `countersign resources diff URL`; if not, make one with `countersign resources add URL` (docs/resources.md)";

const IDENTITY_SCOPES = ["openid", "profile", "email", "offline_access"];

function scopeFinding(metadata: Json, wanted: readonly string[], countersign: boolean): CheckResult {
  const listed = stringsOf(metadata.scopes_supported);
  if (listed === undefined || listed.length === 0)
    return warning("scopes", "the metadata lists no scopes_supported", "list them, so that clients know what to ask for");
  const missing = wanted.filter((scope) => !listed.includes(scope));
  const setting = "add the resource (countersign resources add URL), or its scopes to DEFAULT_DYNAMIC_REGISTRATION_SCOPES";
  if (missing.length > 0)
    return warning(
      "scopes",
      `clients that register themselves are not offered ${missing.map(shown).join(" ")} of this resource`,
      countersign ? RECORD_RESOURCE : "add them to the scopes that clients may ask for",
    );
  if (wanted.length === 0 && countersign && listed.every((scope) => IDENTITY_SCOPES.includes(scope)))
    return warning("scopes", "clients that register themselves cannot have scopes of your resources", `${setting} if they should`);
  return ok("scopes", wanted.length === 0 ? "lists its scopes" : "offers the scopes of this resource");
}

function keyFindings(metadata: Json, keys: Answer | undefined): readonly CheckResult[] {
  if (metadata.jwks_uri === undefined)
    return [warning("keys", "publishes no keys: resources must introspect its tokens", "set jwks_uri if its tokens are JWTs")];
  const list = Array.isArray(keys?.body?.keys) ? (keys.body.keys as readonly unknown[]) : undefined;
  if (keys?.status !== 200 || list === undefined) {
    const why = keys === undefined ? "it is no usable address" : keys.body === undefined ? keys.problem : "there is no list of keys";
    return [fault("keys", `its keys at ${shown(metadata.jwks_uri)} cannot be read: ${why}`, "serve a JWK Set there (RFC 7517 §5)")];
  }
  const objects = list.filter((key): key is Json => typeof key === "object" && key !== null);
  const leaking = objects.some((key) => PRIVATE_MEMBERS.some((member) => member in key));
  const kinds = [...new Set(objects.map(({ alg, kty }) => shown(alg ?? kty)))].join(", ");
  return [
    objects.length === 0
      ? fault("keys", "no key is published: tokens cannot be verified", "publish the signing key's public half")
      : objects.every(({ kid }) => typeof kid === "string")
        ? ok("keys", `publishes its keys (${kinds})`)
        : warning("keys", "a published key has no kid: verifiers cannot choose the right one during a rotation", "give each key a kid"),
    ...(leaking ? [fault("private_key", "a PRIVATE key is published", "replace the key now, and publish its public half alone")] : []),
  ];
}

function registrationFindings(metadata: Json, { registration, countersign }: ServerObservations): readonly CheckResult[] {
  const documents = metadata.client_id_metadata_document_supported === true;
  const found = [
    documents
      ? ok("client_documents", "takes client ID metadata documents (CIMD)")
      : warning(
          "client_documents",
          "client ID metadata documents (CIMD) are not offered",
          countersign ? "set CIMD_ENABLED=true" : "support them, and set client_id_metadata_document_supported",
        ),
  ];
  if (metadata.registration_endpoint === undefined) {
    const sentence = "clients cannot register themselves";
    const change = "offer a registration_endpoint (RFC 7591), or give each host a client_id by hand";
    return [...found, documents ? warning("registration", sentence, change) : fault("registration", sentence, change)];
  }
  const why = registration?.problem ?? "it is no usable address";
  const needsToken = `its registration endpoint answers ${registration?.status}: hosts have no token for it`;
  const results = {
    broken: fault("registration", `its registration endpoint does not work: ${why}`, "correct registration_endpoint"),
    closed: warning("registration", needsToken, "open it, or register hosts by hand"),
    open: ok("registration", "clients can register themselves"),
  };
  return [...found, results[registrationIs(registration)]];
}

/** Whether clients can register themselves: without a token if it is open. */
function registrationIs({ status }: Partial<Answer> = {}): "broken" | "closed" | "open" {
  if (status === undefined || status === 404 || status >= 500) return "broken";
  return status === 401 || status === 403 ? "closed" : "open";
}

/** How an MCP host becomes a client, and where users return to. */
interface Host {
  readonly name: string;
  /** Whether it uses a client ID metadata document where they are offered. All hosts register themselves otherwise. */
  readonly document: boolean;
  readonly redirect: string;
}

/** @see docs/clients/compatibility.md#mcp-hosts */
export const HOSTS: readonly Host[] = [
  { name: "Claude", document: true, redirect: "https://claude.ai/api/mcp/auth_callback" },
  { name: "Claude Code", document: true, redirect: "http://localhost:<port>/callback" },
  { name: "ChatGPT", document: true, redirect: "https://chatgpt.com/connector/oauth/<id>" },
  { name: "VS Code", document: true, redirect: "http://127.0.0.1:<port>/ and https://vscode.dev/redirect" },
  { name: "Cursor", document: false, redirect: "http://localhost:8787/callback or cursor://anysphere.cursor-mcp/oauth/callback" },
  { name: "Copilot CLI", document: false, redirect: "http://127.0.0.1:<port>/" },
  { name: "opencode", document: true, redirect: "http://127.0.0.1:19876/mcp/oauth/callback" },
];

/** What each of today's MCP hosts will meet at an authorization server. Pure. */
export function hostFindings(observations: ServerObservations): readonly Finding[] {
  const metadata = metadataOf(observations);
  if (metadata === undefined) return [];
  const challenge = hasChallenges(metadata);
  const documents = metadata.client_id_metadata_document_supported === true;
  const registration = registrationIs(observations.registration) === "open";
  const publicClients = lists(metadata, "token_endpoint_auth_methods_supported", "none");
  const results = HOSTS.map(({ name, document, redirect }) => {
    const check = `host_${name.toLowerCase().replaceAll(" ", "_")}`;
    if (!challenge) return fault(check, `${name} refuses a server without PKCE S256`, "list S256 in code_challenge_methods_supported");
    const by = document && documents ? "by its metadata document" : registration ? "by registering itself" : undefined;
    if (by === undefined) {
      const change = `register a client for it by hand, with the redirect URI ${redirect}, and enter its client_id there`;
      return warning(check, `${name} cannot become a client by itself`, change);
    }
    if (!publicClients && !redirect.startsWith("https:"))
      return warning(check, `${name} has no secret, and clients without one are not offered`, "offer token_endpoint_auth_method none");
    return ok(check, `${name} can connect ${by}; redirects to ${redirect}`);
  });
  return findingsAbout(`MCP hosts at ${observations.issuer}`, results);
}
