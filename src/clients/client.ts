import { type GrantType, TOKEN_EXCHANGE } from "../protocol/grants.ts";
import type { SecretHash } from "../random.ts";

export const ENVIRONMENTS = ["development", "staging", "production"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const AUTH_METHODS = ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"] as const;
/** With the one that operators give: a client of it authenticates by the tokens of the platform on which it runs. */
export const OPERATOR_AUTH_METHODS = [...AUTH_METHODS, "workload_jwt"] as const;
/** What metadata lists. The documents of clients may name SPIFFE IDs of their own. @see draft-ietf-oauth-spiffe-client-auth §4 */
export const advertisedMethods = (trustsPlatforms: boolean, readsDocuments: boolean): readonly string[] => [
  ...(trustsPlatforms ? OPERATOR_AUTH_METHODS : AUTH_METHODS),
  ...(trustsPlatforms || readsDocuments ? ["spiffe_jwt"] : []),
];
export type AuthMethod = (typeof OPERATOR_AUTH_METHODS)[number];

/** Signature algorithms of client assertions: asymmetric ones only (docs/protocol.md#client-assertions). */
export const CLIENT_ASSERTION_ALGORITHMS = [
  "EdDSA",
  "Ed25519",
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
] as const;

/** Sets of demands that an operator can make of a client. */
export const SECURITY_PROFILES = ["fapi2"] as const;
export type SecurityProfile = (typeof SECURITY_PROFILES)[number];

export const AGENT_MODES = ["readonly", "admin", "exec"] as const;
export type AgentMode = (typeof AGENT_MODES)[number];

/** How a client was registered, which decides which rules apply to it. */
export type ClientOrigin = "built_in" | "operator" | "developer" | "dynamic" | "metadata_document";

/** A SPIFFE ID, which may end in `/*`, and where the keys of its trust domain are. */
export type SpiffeWorkload = { readonly id: string; readonly bundleEndpoint: string };

/** A registered client (docs/protocol.md#clients). Times are seconds since the epoch, with their fraction. */
export interface Client {
  readonly id: string;
  readonly clientId: string;
  readonly realmId: string;
  /** The developer who manages it; null for open registrations and built-in clients. */
  readonly ownerId: string | null;
  readonly origin: ClientOrigin;
  readonly name: string;
  readonly description: string | null;
  readonly redirectUris: readonly string[];
  /** Where users may be sent after the client signed them out. Set by operators. */
  readonly postLogoutRedirectUris: readonly string[];
  /** Where the client is notified of the end of a session. Set by operators. */
  readonly backchannelLogoutUri: string | null;
  /** Whether the notification must name the session; it always does. */
  readonly backchannelLogoutSessionRequired: boolean;
  readonly scopes: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly responseTypes: readonly "code"[];
  readonly tokenEndpointAuthMethod: AuthMethod;
  /** Further methods: a metadata document may list several, a registration has one. */
  readonly alternativeAuthMethods?: readonly AuthMethod[];
  readonly secretHash: SecretHash | null;
  readonly enabled: boolean;
  /** Null has the rules of production, and is shown as null. */
  readonly environment: Environment | null;
  readonly isAgent: boolean;
  readonly maxAgentMode: AgentMode | null;
  /** Whether each of its token requests must prove a key, to which the tokens are bound (RFC 9449 §5.2). A document that an earlier release stored lacks it. */
  readonly dpopBoundAccessTokens: boolean;
  /** Whether its authorization requests must be pushed first (RFC 9126 §6). A document that an earlier release stored lacks it. */
  readonly requirePushedAuthorizationRequests: boolean;
  /** Set by operators. A document that an earlier release stored lacks it. */
  readonly securityProfile: SecurityProfile | null;
  /** Resources that the client may name for itself and whose tokens it may introspect; null means its client_id. */
  readonly audience: readonly string[] | null;
  /** Public keys for private_key_jwt, as a JWK Set, or where to find them. */
  readonly jwks: Readonly<Record<string, unknown>> | null;
  readonly jwksUri: string | null;
  /** The workloads that are a metadata document's client. */
  readonly spiffe?: SpiffeWorkload;
  readonly createdAt: number;
  readonly updatedAt: number | null;
  readonly lastUsedAt: number | null;
}

/** Whether a client is notified of the end of sessions. A document that an earlier release stored lacks the member. */
export const isNotifiedOfLogout = ({ backchannelLogoutUri }: Partial<Pick<Client, "backchannelLogoutUri">>): boolean =>
  typeof backchannelLogoutUri === "string";

/** The default settings of a new client: the most restrictive ones. */
export const DEFAULT_SETTINGS = {
  ownerId: null,
  description: null,
  redirectUris: [],
  postLogoutRedirectUris: [],
  backchannelLogoutUri: null,
  backchannelLogoutSessionRequired: false,
  scopes: [],
  enabled: true,
  environment: null,
  isAgent: false,
  maxAgentMode: null,
  dpopBoundAccessTokens: false,
  requirePushedAuthorizationRequests: false,
  securityProfile: null,
  audience: null,
  jwks: null,
  jwksUri: null,
} as const satisfies Partial<Client>;

/** The members of a client that can be changed. */
export const SETTING_MEMBERS = [
  "name",
  "grantTypes",
  "responseTypes",
  "tokenEndpointAuthMethod",
  ...(Object.keys(DEFAULT_SETTINGS) as (keyof typeof DEFAULT_SETTINGS)[]),
] as const;
export type ClientSettings = Pick<Client, (typeof SETTING_MEMBERS)[number]>;

/** client_id of the built-in public first-party client to which login token sets belong. */
export const FIRST_PARTY_CLIENT_ID = "countersign";

/** client_id of the built-in public client of the command line. */
export const COMMAND_LINE_CLIENT_ID = "countersign-cli";

/** client_id of the built-in public client of the console (docs/protocol.md#console-sign-in). */
export const CONSOLE_CLIENT_ID = "countersign-console";

/** The only redirect URI of the console: a page of the service itself. Its record has none, so that no operator can change it. */
export const consoleRedirectUri = (issuer: string): string => `${issuer}/console/callback`;

/** The built-in clients that act for their user at the service itself, and nowhere else. */
const OWN_PROGRAMS: ReadonlySet<string> = new Set([COMMAND_LINE_CLIENT_ID, CONSOLE_CLIENT_ID]);
export const isOwnProgram = (clientId: string): boolean => OWN_PROGRAMS.has(clientId);

/** The scope that lets a client manage clients on behalf of a user. Given by operators. */
export const MANAGE_CLIENTS = "clients:manage";

/** The scope by which the command line and the console do at the service whatever their user may do. It means nothing in the hands of another client. */
export const MANAGE_SERVER = "server:manage";

/** A token as far as its power over the service itself depends on it. */
export interface Presented {
  readonly clientId: string;
  readonly scopes: readonly string[];
}

/**
 * Whether a token comes from a sign-in to the service itself, not from an application. Pure.
 * @see docs/protocol.md#client-management
 */
export const isFirstParty = ({ clientId, scopes }: Presented): boolean =>
  clientId === FIRST_PARTY_CLIENT_ID || (isOwnProgram(clientId) && scopes.includes(MANAGE_SERVER));

export const isConfidential = (client: Pick<Client, "tokenEndpointAuthMethod">): boolean => client.tokenEndpointAuthMethod !== "none";

/** Whether no developer or operator is responsible for the client. */
export const isOpenlyRegistered = (client: Client): boolean => client.origin === "dynamic" || client.origin === "metadata_document";

/** The resources that a client represents: it may request tokens for them by itself, and introspect their tokens. */
export const audienceOf = (client: Client): readonly string[] => client.audience ?? [client.clientId];

/** Clients that a developer makes; one call lists all of them. */
export const MOST_CLIENTS = 1_000;

/** Scopes that need a signed-in user (OIDC Core §3.1.2.1 and §11). */
export const PERSONAL_SCOPES: ReadonlySet<string> = new Set(["openid", "offline_access"]);

/** Whether static API keys of a client can be created and are accepted. @see docs/protocol.md#api-keys */
export const mayHoldApiKey = ({ environment }: Pick<Client, "environment">): boolean => environment === "development";

/** Actors that one token may name (docs/protocol.md#limits). */
export const MAX_ACTORS = 4;

/** What users see of a client when a token may go to it, or could be passed on. The name is the client's own claim. */
export type NamedTarget = Pick<Client, "clientId" | "name" | "isAgent" | "enabled" | "grantTypes" | "tokenEndpointAuthMethod">;

/** Whether a client could exchange a token that it receives. Pure. @see docs/protocol.md#token-exchange-rules */
export const mayExchange = (client: Pick<Client, "enabled" | "isAgent" | "grantTypes" | "tokenEndpointAuthMethod">): boolean =>
  client.enabled && client.isAgent && client.grantTypes.includes(TOKEN_EXCHANGE) && isConfidential(client);

/** What a client's requests must fulfil, and what it is given. */
export interface Demands {
  /** Whether authorization requests must be pushed (RFC 9126). */
  readonly pushedRequests: boolean;
  /** Whether tokens must be bound to a key (RFC 9449). */
  readonly boundTokens: boolean;
  readonly authMethods: readonly AuthMethod[];
  /** Signature algorithms of client assertions and of proofs of possession. */
  readonly algorithms: readonly string[];
  /** Seconds by which a proof of possession may be ahead of the clock. */
  readonly proofAhead: number;
  /** Whether the audience of client assertions must be the issuer, as a text and not a list, whatever CLIENT_ASSERTION_AUDIENCE says. */
  readonly issuerAudience: boolean;
  /** Seconds that a code lives at most. */
  readonly codeLifetime: number;
  /** Whether a refresh token is replaced at each use. */
  readonly rotation: boolean;
}

/** FAPI 2.0 Security Profile. `EdDSA` and `Ed25519` name the same algorithm (RFC 9864). */
const FAPI2: Demands = {
  pushedRequests: true,
  boundTokens: true,
  authMethods: ["private_key_jwt"],
  algorithms: ["ES256", "PS256", "EdDSA", "Ed25519"],
  proofAhead: 60,
  issuerAudience: true,
  codeLifetime: 60,
  rotation: false,
};

type Profiled = Pick<Client, "securityProfile" | "requirePushedAuthorizationRequests" | "dpopBoundAccessTokens">;

/** Whether ID tokens and logout tokens for a client are signed with EdDSA, whatever ID_TOKEN_SIGNING_ALG says. @see FAPI 2.0 §5.4.1 */
export const demandsEdDsa = ({ securityProfile }: Pick<Client, "securityProfile">): boolean => securityProfile === "fapi2";

/** The demands on a client: those of its profile, else what it or an operator has chosen. Pure. @see docs/protocol.md#security-profile */
export const demandsOf = (client: Profiled): Demands =>
  client.securityProfile === "fapi2"
    ? FAPI2
    : {
        pushedRequests: client.requirePushedAuthorizationRequests,
        boundTokens: client.dpopBoundAccessTokens,
        authMethods: OPERATOR_AUTH_METHODS,
        algorithms: CLIENT_ASSERTION_ALGORITHMS,
        proofAhead: Number.POSITIVE_INFINITY,
        issuerAudience: false,
        codeLifetime: Number.POSITIVE_INFINITY,
        rotation: true,
      };
