import { defineEntity, p } from "@mikro-orm/core";
import { RealmRow, UserRow } from "./accounts.ts";
import { createdAt, epoch, hash, id, moment, words } from "./columns.ts";

export const ClientRow = defineEntity({
  name: "ClientRow",
  tableName: "clients",
  properties: {
    id: id(),
    clientId: p.text().unique("clients_client_id_unique"),
    realm: () => p.manyToOne(RealmRow).fieldName("realm_id").updateRule("no action").deleteRule("no action"),
    owner: () =>
      p.manyToOne(UserRow).fieldName("owner_id").nullable().updateRule("no action").deleteRule("cascade").index("clients_owner_id_index"),
    origin: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    redirectUris: words(),
    postLogoutRedirectUris: words().default([]),
    scopes: words(),
    grantTypes: words(),
    responseTypes: words(),
    tokenEndpointAuthMethod: p.text(),
    secretHash: hash().nullable(),
    enabled: p.boolean().default(true),
    epoch: epoch(),
    environment: p.text().nullable(),
    isAgent: p.boolean().default(false),
    maxAgentMode: p.text().nullable(),
    audience: words().nullable(),
    jwks: p.json().nullable(),
    jwksUri: p.text().nullable(),
    createdAt: createdAt(),
    updatedAt: moment().nullable(),
    lastUsedAt: moment().nullable(),
  },
  indexes: [
    {
      name: "clients_dynamic_unused_index",
      expression: "create index clients_dynamic_unused_index on clients (created_at) where origin = 'dynamic' and last_used_at is null",
    },
    {
      name: "clients_dynamic_last_used_index",
      expression: "create index clients_dynamic_last_used_index on clients (last_used_at) where origin = 'dynamic'",
    },
  ],
  checks: [
    {
      name: "clients_origin_check",
      expression: "origin = any (array['built_in'::text, 'operator'::text, 'developer'::text, 'dynamic'::text])",
    },
    {
      name: "clients_auth_method_check",
      expression:
        "token_endpoint_auth_method = any (array['client_secret_basic'::text, 'client_secret_post'::text, 'private_key_jwt'::text, 'none'::text])",
    },
    // A public client can have no secret, whatever changed its method.
    { name: "clients_public_secret_check", expression: "(token_endpoint_auth_method <> 'none'::text) or (secret_hash is null)" },
    { name: "clients_grant_types_check", expression: "cardinality(grant_types) > 0" },
    {
      name: "clients_environment_check",
      expression: "environment = any (array['development'::text, 'staging'::text, 'production'::text])",
    },
    {
      name: "clients_max_agent_mode_check",
      expression: "max_agent_mode = any (array['readonly'::text, 'admin'::text, 'exec'::text])",
    },
  ],
});

/** A static API key of a client in development. Revoked ones stay. */
export const ApiKeyRow = defineEntity({
  name: "ApiKeyRow",
  tableName: "api_keys",
  properties: {
    id: id(),
    client: () =>
      p.manyToOne(ClientRow).fieldName("client_id").updateRule("no action").deleteRule("cascade").index("api_keys_client_id_index"),
    name: p.text(),
    prefix: p.text(),
    last4: p.text(),
    keyHash: hash().unique("api_keys_key_hash_unique"),
    createdAt: createdAt(),
    lastUsedAt: moment().nullable(),
    revokedAt: moment().nullable(),
  },
});
