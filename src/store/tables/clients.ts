import { AGENT_MODES, type AuthMethod, type ClientOrigin, ENVIRONMENTS, SECURITY_PROFILES } from "../../clients/client.ts";
import { WORKLOAD_KINDS, type WorkloadIdentity, type WorkloadIssuer } from "../../clients/workload.ts";
import type { GrantType } from "../../protocol/grants.ts";
import type { SecretHash } from "../../random.ts";
import { type ClientKind, RESOURCE_ORIGINS, type ResourceScope } from "../../resources/resource.ts";
import { boolean, bytes, createdAt, epoch, id, integer, json, nullable, reference, table, text, texts, time } from "./table.ts";

export const CLIENTS = table(
  "clients",
  {
    id: id(),
    clientId: text({ unique: true }),
    realmId: reference("realms", { onDelete: "no action" }),
    ownerId: nullable(reference("users", { index: true })),
    origin: text<ClientOrigin>({ oneOf: ["built_in", "operator", "developer", "dynamic"] }),
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
    environment: nullable(text({ oneOf: ENVIRONMENTS })),
    isAgent: boolean({ default: "false" }),
    maxAgentMode: nullable(text({ oneOf: AGENT_MODES })),
    audience: nullable(texts()),
    jwks: nullable(json<Readonly<Record<string, unknown>>>()),
    jwksUri: nullable(text()),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
    lastUsedAt: nullable(time()),
    epoch: epoch(),
    dpopBoundAccessTokens: boolean({ default: "false" }),
    requirePushedAuthorizationRequests: boolean({ default: "false" }),
    securityProfile: nullable(text({ oneOf: SECURITY_PROFILES })),
  },
  {
    checks: {
      clients_auth_method_check:
        "token_endpoint_auth_method = any (array['client_secret_basic'::text, 'client_secret_post'::text, 'private_key_jwt'::text, 'none'::text, 'workload_jwt'::text])",
      // A public client can have no secret, whatever changed its method.
      clients_public_secret_check: "(token_endpoint_auth_method <> 'none'::text) or (secret_hash is null)",
      clients_grant_types_check: "cardinality(grant_types) > 0",
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

/** Platforms whose tokens authenticate clients. */
export const WORKLOAD_ISSUERS = table(
  "workload_issuers",
  {
    id: id(),
    issuer: text({ unique: true }),
    kind: text({ oneOf: WORKLOAD_KINDS }),
    jwksUri: nullable(text()),
    bundleEndpoint: nullable(text()),
    algorithms: texts<WorkloadIssuer["algorithms"]>(),
    maxLifetime: integer(),
    singleUse: boolean(),
    allowPrivate: boolean({ default: "false" }),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
  },
  { indexes: { workload_issuers_issuer_index: '(issuer collate "C", id)' } },
);

/** What a platform calls a workload that stands for a client. */
export const WORKLOAD_IDENTITIES = table(
  "workload_identities",
  {
    id: id(),
    issuerId: reference("workload_issuers"),
    clientId: reference("clients", { index: true }),
    subject: text(),
    claims: json<WorkloadIdentity["claims"]>({ default: "'{}'" }),
    createdAt: createdAt(),
  },
  {
    // Besides these, workload_identities_search_index where PostgreSQL has pg_trgm.
    indexes: {
      workload_identities_subject_index: "(issuer_id, subject)",
      workload_identities_order_index: '("left"(subject, 100) collate "C", id)',
      workload_identities_issuer_index: "(issuer_id, id)",
      workload_identities_issuer_order_index: '(issuer_id, "left"(subject, 100) collate "C", id)',
    },
    // One identity stands for one client. Claims may be too long for an index entry.
    uniqueIndexes: { workload_identities_identity_unique: "(issuer_id, subject, hashtextextended(claims::text, 0))" },
  },
);

export const RESOURCES = table(
  "resources",
  {
    id: id(),
    realmId: reference("realms"),
    /** As `resourceKey` writes it. */
    resource: text(),
    name: text(),
    scopes: json<readonly ResourceScope[]>(),
    clients: texts<readonly ClientKind[]>(),
    accessTokenLifetime: nullable(integer()),
    enabled: boolean({ default: "true" }),
    origin: text({ oneOf: RESOURCE_ORIGINS }),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
  },
  {
    indexes: {
      resources_resource_index: '(realm_id, resource collate "C", id)',
      resources_name_index: '(realm_id, lower("left"(name, 100)), id)',
      resources_realm_index: "(realm_id, id)",
    },
    uniques: { resources_resource_realm_id_unique: ["resource", "realmId"] },
    checks: {
      resources_clients_check: "clients <@ array['registered'::text, 'document'::text, 'named'::text]",
      resources_access_token_lifetime_check: "access_token_lifetime > 0",
    },
  },
);
