import type { AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import type { ClientRegistry, NewClient } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { CLIENT_COLUMNS, type ClientColumns, clientOf } from "./client-rows.ts";
import { hex, type Json, jsonRows, type Sql, statement } from "./sql.ts";

const REGISTER = statement(
  "client_register",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       id uuid, client_id text, realm_id uuid, owner_id uuid, origin text, name text, description text, redirect_uris text[], post_logout_redirect_uris text[], scopes text[],
       grant_types text[], response_types text[], token_endpoint_auth_method text, secret_hash text, enabled boolean, environment text,
       is_agent boolean, max_agent_mode text, audience text[], jwks jsonb, jwks_uri text, audit jsonb)),
   added as (
     insert into clients (id, client_id, realm_id, owner_id, origin, name, description, redirect_uris, post_logout_redirect_uris, scopes, grant_types, response_types,
       token_endpoint_auth_method, secret_hash, enabled, environment, is_agent, max_agent_mode, audience, jwks, jwks_uri)
     select coalesce(id, uuid_v7()), client_id, realm_id, owner_id, origin, name, description, redirect_uris, post_logout_redirect_uris, scopes, grant_types, response_types,
       token_endpoint_auth_method, decode(secret_hash, 'hex'), enabled, environment, is_agent, max_agent_mode, audience, jwks, jwks_uri from input
     where owner_id is null or exists (select 1 from users where users.id = owner_id)
     on conflict (client_id) do nothing returning *),
   logged as (${insertAudit("added, (select audit from input) as given")})
   select ${CLIENT_COLUMNS} from added`,
);

/** Registers a client; one that brings no id is given one. @throws {Refusal} conflict when the client_id is taken, or its owner is gone */
export async function storeNewClient(
  sql: Pick<Sql, "query">,
  client: Omit<NewClient, "id"> & { readonly id: string | null },
  audit: AuditEntry,
): Promise<Client> {
  const row = {
    id: client.id,
    client_id: client.clientId,
    realm_id: client.realmId,
    owner_id: client.ownerId,
    origin: client.origin,
    name: client.name,
    description: client.description,
    redirect_uris: client.redirectUris,
    post_logout_redirect_uris: client.postLogoutRedirectUris,
    scopes: client.scopes,
    grant_types: client.grantTypes,
    response_types: client.responseTypes,
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    secret_hash: client.secretHash && hex(client.secretHash),
    enabled: client.enabled,
    environment: client.environment,
    is_agent: client.isAgent,
    max_agent_mode: client.maxAgentMode,
    audience: client.audience,
    jwks: client.jwks as Json, // a JWK Set, parsed from JSON
    jwks_uri: client.jwksUri,
    audit: auditRow(audit),
  };
  const [added] = await sql.query<ClientColumns>(REGISTER, [jsonRows([row])]);
  if (added === undefined) throw new Refusal("conflict", "client_id_taken");
  return clientOf(added);
}

export const clientRegistry = (sql: Sql): ClientRegistry => ({ register: (client, audit) => storeNewClient(sql, client, audit) });
