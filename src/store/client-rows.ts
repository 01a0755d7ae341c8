import type { AgentMode, AuthMethod, Client, ClientOrigin, Environment } from "../clients/client.ts";
import type { GrantType } from "../protocol/grants.ts";
import { asSecretHash } from "../secret.ts";
import { preciseSeconds } from "./sql.ts";

/** A client as its row says; the column checks of migration 0001 vouch for the words. */
export interface ClientColumns {
  readonly id: string;
  readonly client_id: string;
  readonly realm_id: string;
  readonly owner_id: string | null;
  readonly origin: ClientOrigin;
  readonly name: string;
  readonly description: string | null;
  readonly redirect_uris: readonly string[];
  readonly post_logout_redirect_uris: readonly string[];
  readonly scopes: readonly string[];
  readonly grant_types: readonly GrantType[];
  readonly response_types: readonly "code"[];
  readonly token_endpoint_auth_method: AuthMethod;
  readonly secret_hash: Uint8Array | null;
  readonly enabled: boolean;
  readonly environment: Environment | null;
  readonly is_agent: boolean;
  readonly max_agent_mode: AgentMode | null;
  readonly audience: readonly string[] | null;
  readonly jwks: Readonly<Record<string, unknown>> | null;
  readonly jwks_uri: string | null;
  readonly created_at: number;
  readonly updated_at: number | null;
  readonly last_used_at: number | null;
}

/** What to select from `clients` (or a CTE that returns its rows) for clientOf. */
export const CLIENT_COLUMNS = `id::text, client_id, realm_id::text, owner_id::text, origin, name, description, redirect_uris, post_logout_redirect_uris, scopes, grant_types,
  response_types, token_endpoint_auth_method, secret_hash, enabled, environment, is_agent, max_agent_mode, audience, jwks, jwks_uri,
  ${preciseSeconds("created_at")} as created_at, ${preciseSeconds("updated_at")} as updated_at, ${preciseSeconds("last_used_at")} as last_used_at`;

export const clientOf = (row: ClientColumns): Client => ({
  id: row.id,
  clientId: row.client_id,
  realmId: row.realm_id,
  ownerId: row.owner_id,
  origin: row.origin,
  name: row.name,
  description: row.description,
  redirectUris: row.redirect_uris,
  postLogoutRedirectUris: row.post_logout_redirect_uris,
  scopes: row.scopes,
  grantTypes: row.grant_types,
  responseTypes: row.response_types,
  tokenEndpointAuthMethod: row.token_endpoint_auth_method,
  secretHash: row.secret_hash === null ? null : asSecretHash(row.secret_hash),
  enabled: row.enabled,
  environment: row.environment,
  isAgent: row.is_agent,
  maxAgentMode: row.max_agent_mode,
  audience: row.audience,
  jwks: row.jwks,
  jwksUri: row.jwks_uri,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastUsedAt: row.last_used_at,
});
