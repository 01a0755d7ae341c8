import type { AuditEntry } from "../audit.ts";
import type { Client } from "../clients/client.ts";
import type { ClientChange, ManagedClients, Reach } from "../clients/ports.ts";
import { isUuid } from "../identifier.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { CLIENT_COLUMNS, type ClientColumns, clientOf } from "./client-rows.ts";
import { open, pageOf } from "./pages.ts";
import { EVERY_EPOCH, removeOfClient } from "./removals.ts";
import { hex, isStorable, jsonRows, type Sql, type Statement, statement } from "./sql.ts";

/** A statement in two texts: one names the owner as $2, the other has nobody to ask for. */
const reaching = (name: string, text: (mine: string) => string): { readonly [Kind in Reach["kind"]]: Statement } => ({
  owner: statement(`${name}_of_owner`, text("and owner_id = $2::uuid")),
  all: statement(name, text("and $2::uuid is null")),
});

const ownerOf = (reach: Reach): string | null => (reach.kind === "owner" ? reach.userId : null);

/** The record of the act names the client that it was done to. @param parameter where the entry stands, as a jsonb array */
const logged = (rows: string, parameter: string): string =>
  insertAudit(
    `(select given.value || jsonb_build_object('client_id', ${rows}.client_id) as audit from ${rows}, jsonb_array_elements(${parameter}::jsonb) as given) as told`,
  );

const OF_OWNER = statement("clients_of_owner", `select ${CLIENT_COLUMNS} from clients where owner_id = $1::uuid order by clients.id desc`);

const LIST = statement(
  "clients_list",
  `select ${CLIENT_COLUMNS} from clients
   where ($1::uuid is null or owner_id = $1::uuid) and ($2::text is null or origin = $2::text) and ($3::text is null or environment = $3::text)
     and ($4::boolean is null or enabled = $4::boolean) and ($5::boolean is null or is_agent = $5::boolean)
     and ($6::text is null or strpos(lower(name), lower($6::text)) > 0 or strpos(lower(client_id), lower($6::text)) > 0)
     and ($7::uuid is null or clients.id < $7::uuid)
   order by clients.id desc limit $8::int`,
);

const BY_ID = reaching("client_by_id", (mine) => `select ${CLIENT_COLUMNS} from clients where id = $1::uuid ${mine}`);
const LOCK = reaching("client_lock", (mine) => `select ${CLIENT_COLUMNS} from clients where id = $1::uuid ${mine} for no key update`);

const CHANGE = statement(
  "client_change",
  `with input as (
     select * from jsonb_to_record($2::jsonb) as i(
       name text, description text, redirect_uris text[], post_logout_redirect_uris text[], scopes text[], grant_types text[], response_types text[],
       token_endpoint_auth_method text, enabled boolean, environment text, is_agent boolean, max_agent_mode text, audience text[], jwks jsonb,
       jwks_uri text, owner_id uuid, keep_secret boolean, secret_hash text)),
   changed as (
     update clients set
       name = input.name, description = input.description, redirect_uris = input.redirect_uris,
       post_logout_redirect_uris = input.post_logout_redirect_uris, scopes = input.scopes,
       grant_types = input.grant_types, response_types = input.response_types, token_endpoint_auth_method = input.token_endpoint_auth_method,
       enabled = input.enabled, environment = input.environment, is_agent = input.is_agent, max_agent_mode = input.max_agent_mode,
       audience = input.audience, jwks = nullif(input.jwks, 'null'::jsonb), jwks_uri = input.jwks_uri,
       owner_id = input.owner_id, epoch = clients.epoch + (clients.enabled and not input.enabled)::int,
       secret_hash = case when input.keep_secret then clients.secret_hash else decode(input.secret_hash, 'hex') end, updated_at = now()
     from input where clients.id = $1::uuid and (input.owner_id is null or exists (select 1 from users where users.id = input.owner_id))
     returning clients.*),
   logged as (${logged("changed", "$3")})
   select ${CLIENT_COLUMNS}, epoch from changed`,
);

const REPLACE_SECRET = reaching(
  "client_replace_secret",
  (mine) => `with changed as (
     update clients set secret_hash = $3::bytea, updated_at = now()
     where id = $1::uuid ${mine} and token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post') returning *),
   logged as (${logged("changed", "$4")})
   select ${CLIENT_COLUMNS} from changed`,
);

const DELETE = reaching(
  "client_delete",
  (mine) => `with deleted as (delete from clients where id = $1::uuid ${mine} and origin <> 'built_in' returning client_id),
   logged as (${logged("deleted", "$3")})
   select client_id from deleted`,
);

const only = ([row]: readonly ClientColumns[]): Client | undefined => (row === undefined ? undefined : clientOf(row));

const changeRow = ({ settings, secret }: ClientChange) => ({
  name: settings.name,
  description: settings.description,
  redirect_uris: settings.redirectUris,
  post_logout_redirect_uris: settings.postLogoutRedirectUris,
  scopes: settings.scopes,
  grant_types: settings.grantTypes,
  response_types: settings.responseTypes,
  token_endpoint_auth_method: settings.tokenEndpointAuthMethod,
  enabled: settings.enabled,
  environment: settings.environment,
  is_agent: settings.isAgent,
  max_agent_mode: settings.maxAgentMode,
  audience: settings.audience,
  jwks: settings.jwks,
  jwks_uri: settings.jwksUri,
  owner_id: settings.ownerId,
  keep_secret: secret === "kept",
  secret_hash: typeof secret === "string" ? null : hex(secret),
});

/** Stores what was decided on a client that is locked, with its record. @returns undefined when its owner is gone */
export const storeChange = async (
  tx: Pick<Sql, "query">,
  id: string,
  change: ClientChange,
  audit: AuditEntry,
): Promise<Client | undefined> => {
  const given = [id, JSON.stringify(changeRow(change)), jsonRows([auditRow(audit)])];
  const [row] = await tx.query<ClientColumns & { readonly epoch: number }>(CHANGE, given);
  if (row === undefined) return undefined;
  // A client that is enabled again gets nothing back of what it was granted before: the epoch has moved on, whatever is left of that.
  if (!row.enabled) await removeOfClient(tx, "client_disabled", row.client_id, row.epoch);
  return clientOf(row);
};

export const managedClients = (sql: Sql): ManagedClients => ({
  ofOwner: async (userId) => (isUuid(userId) ? (await sql.query<ClientColumns>(OF_OWNER, [userId])).map(clientOf) : []),

  list: async ({ ownerId, origin, environment, enabled, isAgent, search }, limit, after) => {
    if (search !== undefined && !isStorable(search)) return { items: [], next: null };
    const filter = [open(ownerId), open(origin), open(environment), open(enabled), open(isAgent), open(search), open(after)];
    return pageOf(await sql.query<ClientColumns>(LIST, [...filter, limit + 1]), limit, clientOf);
  },

  byId: async (id, reach) => (isUuid(id) ? only(await sql.query<ClientColumns>(BY_ID[reach.kind], [id, ownerOf(reach)])) : undefined),

  change: async (id, reach, decide, audit) => {
    if (!isUuid(id)) return undefined;
    return sql.transaction(async (tx) => {
      const client = only(await tx.query<ClientColumns>(LOCK[reach.kind], [id, ownerOf(reach)]));
      if (client === undefined) return undefined;
      return storeChange(tx, id, decide(client), audit);
    });
  },

  replaceSecret: async (id, reach, hash, audit) =>
    isUuid(id)
      ? only(await sql.query<ClientColumns>(REPLACE_SECRET[reach.kind], [id, ownerOf(reach), hash, jsonRows([auditRow(audit)])]))
      : undefined,

  delete: async (id, reach, audit) => {
    if (!isUuid(id)) return false;
    return sql.transaction(async (tx) => {
      const parameters = [id, ownerOf(reach), jsonRows([auditRow(audit)])];
      const [deleted] = await tx.query<{ client_id: string }>(DELETE[reach.kind], parameters);
      if (deleted === undefined) return false;
      // Should the client_id ever be given again, nothing of before may count for its new owner.
      await removeOfClient(tx, "client_deleted", deleted.client_id, EVERY_EPOCH);
      return true;
    });
  },
});
