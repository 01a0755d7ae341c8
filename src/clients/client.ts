import { type GrantType, TOKEN_EXCHANGE } from "../protocol/grants.ts";
import type { SecretHash } from "../random.ts";
import { namesDocument } from "./document-url.ts";
import type { ClientDirectory, ClientDocuments } from "./ports.ts";

export const ENVIRONMENTS = ["development", "staging", "production"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const AUTH_METHODS = ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

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

export const AGENT_MODES = ["readonly", "admin", "exec"] as const;
export type AgentMode = (typeof AGENT_MODES)[number];

/** How a client was registered, which decides which rules apply to it. */
export type ClientOrigin = "built_in" | "operator" | "developer" | "dynamic" | "metadata_document";

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
  /** Resources that the client may name for itself and whose tokens it may introspect; null means its client_id. */
  readonly audience: readonly string[] | null;
  /** Public keys for private_key_jwt, as a JWK Set, or where to find them. */
  readonly jwks: Readonly<Record<string, unknown>> | null;
  readonly jwksUri: string | null;
  readonly createdAt: number;
  readonly updatedAt: number | null;
  readonly lastUsedAt: number | null;
}

/** The default settings of a new client: the most restrictive ones. */
export const DEFAULT_SETTINGS = {
  ownerId: null,
  description: null,
  redirectUris: [],
  postLogoutRedirectUris: [],
  scopes: [],
  enabled: true,
  environment: null,
  isAgent: false,
  maxAgentMode: null,
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

export const isConfidential = (client: Pick<Client, "tokenEndpointAuthMethod">): boolean => client.tokenEndpointAuthMethod !== "none";

/** The scope that lets a client manage clients on behalf of a user. Given by operators. */
export const MANAGE_CLIENTS = "clients:manage";

/** Whether no developer or operator is responsible for the client. */
export const isOpenlyRegistered = (client: Client): boolean => client.origin === "dynamic" || client.origin === "metadata_document";

/** The resources that a client represents: it may request tokens for them by itself, and introspect their tokens. */
export const audienceOf = (client: Client): readonly string[] => client.audience ?? [client.clientId];

/** Scopes that need a signed-in user (OIDC Core §3.1.2.1 and §11). */
export const PERSONAL_SCOPES: ReadonlySet<string> = new Set(["openid", "offline_access"]);

/** Whether static API keys of a client can be created and are accepted. @see docs/protocol.md#api-keys */
export const mayHoldApiKey = ({ environment }: Pick<Client, "environment">): boolean => environment === "development";

/** Actors that one token may name (docs/protocol.md#limits). */
export const MAX_ACTORS = 4;

/** A client as users see it when a token may go to it. The name is the client's own claim. */
export type NamedTarget = Pick<Client, "clientId" | "name" | "isAgent"> & { readonly mayExchange: boolean };

/** Whether a client could exchange a token that it receives. Pure. @see docs/protocol.md#token-exchange-rules */
export const mayExchange = (client: Client): boolean =>
  client.enabled && client.isAgent && client.grantTypes.includes(TOKEN_EXCHANGE) && isConfidential(client);

/** The registered ones of these client_ids. */
export type NamedTargets = (clientIds: readonly string[]) => Promise<ReadonlyMap<string, NamedTarget>>;

export const namedTargets =
  ({ byClientId }: ClientDirectory): NamedTargets =>
  async (clientIds) => {
    const found = await Promise.all([...new Set(clientIds)].map(byClientId));
    return new Map(
      found.flatMap((client) => {
        if (client === undefined) return [];
        const { clientId, name, isAgent } = client;
        return [[clientId, { clientId, name, isAgent, mayExchange: mayExchange(client) }] as const];
      }),
    );
  };

/** `documents` is undefined while CIMD_ENABLED is false. */
export type ClientSources = { readonly clients: ClientDirectory; readonly documents: ClientDocuments | undefined };

/**
 * Finds a client: the registered one, even if disabled, else the one whose metadata document is at the client_id.
 * @param address of the caller, whose fetches are counted
 * @throws {Refusal} invalid_client, too_many_requests @see docs/protocol.md#client-resolution
 */
export async function resolveClient(clientId: string, address: string, { clients, documents }: ClientSources): Promise<Client | undefined> {
  const registered = await clients.byClientId(clientId);
  if (registered !== undefined || documents === undefined || !namesDocument(clientId)) return registered;
  return documents.byUrl(clientId, address);
}
