import type { AgentMode, AuthMethod, ClientOrigin, Environment, SecurityProfile } from "../../clients/client.ts";
import type { GrantType } from "../../protocol/grants.ts";
import type { SecretHash } from "../../random.ts";
import { boolean, bytes, createdAt, epoch, id, integer, json, nullable, reference, table, text, texts, time } from "./table.ts";

export const CLIENTS = table(
  "clients",
  {
    id: id(),
    clientId: text({ unique: true }),
    realmId: reference("realms", { onDelete: "no action" }),
    ownerId: nullable(reference("users", { index: true })),
    origin: text<ClientOrigin>(),
    name: text(),
    description: nullable(text()),
    redirectUris: texts(),
    postLogoutRedirectUris: texts({ default: "'{}'" }),
    backchannelLogoutUri: nullable(text()),
    backchannelLogoutSessionRequired: boolean({ default: "false" }),
    scopes: texts(),
    grantTypes: texts<readonly GrantType[]>(),
    responseTypes: texts<readonly "code"[]>(),
    tokenEndpointAuthMethod: text<AuthMethod>(),
    secretHash: nullable(bytes<SecretHash>()),
    enabled: boolean({ default: "true" }),
    environment: nullable(text<Environment>()),
    isAgent: boolean({ default: "false" }),
    maxAgentMode: nullable(text<AgentMode>()),
    audience: nullable(texts()),
    jwks: nullable(json<Readonly<Record<string, unknown>>>()),
    jwksUri: nullable(text()),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
    lastUsedAt: nullable(time()),
    epoch: epoch(),
    dpopBoundAccessTokens: boolean({ default: "false" }),
    requirePushedAuthorizationRequests: boolean({ default: "false" }),
    securityProfile: nullable(text<SecurityProfile>()),
  },
  {
    checks: {
      clients_origin_check: "origin = any (array['built_in'::text, 'operator'::text, 'developer'::text, 'dynamic'::text])",
      clients_auth_method_check:
        "token_endpoint_auth_method = any (array['client_secret_basic'::text, 'client_secret_post'::text, 'private_key_jwt'::text, 'none'::text, 'workload_jwt'::text])",
      // A public client can have no secret, whatever changed its method.
      clients_public_secret_check: "(token_endpoint_auth_method <> 'none'::text) or (secret_hash is null)",
      clients_grant_types_check: "cardinality(grant_types) > 0",
      clients_environment_check: "environment = any (array['development'::text, 'staging'::text, 'production'::text])",
      clients_max_agent_mode_check: "max_agent_mode = any (array['readonly'::text, 'admin'::text, 'exec'::text])",
      clients_security_profile_check: "security_profile = any (array['fapi2'::text])",
    },
    // Besides these, clients_search_index where PostgreSQL has pg_trgm.
    indexes: {
      clients_name_index: '(lower("left"(name, 100)), id)',
      clients_last_used_index: "((coalesce(last_used_at, '-infinity')), id)",
      clients_origin_index: "(origin, id)",
      clients_environment_index: "(environment, id)",
      clients_agent_index: "(id) where is_agent",
      clients_disabled_index: "(id) where not enabled",
      clients_dynamic_unused_index: "(created_at) where origin = 'dynamic' and last_used_at is null",
      clients_dynamic_last_used_index: "(last_used_at) where origin = 'dynamic'",
    },
  },
);

/** A metadata document as it was fetched. Versions count from 1. */
export const CLIENT_DOCUMENTS = table("client_documents", {
  clientId: text({ primary: true }),
  version: integer({ primary: true }),
  digest: bytes(),
  document: text(),
  createdAt: createdAt(),
  seenAt: time({ default: "now()", index: true }),
});

/** A static API key of a client in development. Revoked keys are kept. */
export const API_KEYS = table("api_keys", {
  id: id(),
  clientId: reference("clients", { index: true }),
  name: text(),
  prefix: text(),
  last4: text(),
  keyHash: bytes<SecretHash>({ unique: true }),
  createdAt: createdAt(),
  lastUsedAt: nullable(time()),
  revokedAt: nullable(time()),
});
