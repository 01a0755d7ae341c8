import type { ApiKey } from "../clients/api-key.ts";
import type { ApiKeyDirectory, ApiKeys, Reach } from "../clients/ports.ts";
import { isUuid } from "../identifier.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { CLIENT_COLUMNS, type ClientColumns, clientOf } from "./client-rows.ts";
import { jsonRows, preciseSeconds, type Sql, type Statement, statement } from "./sql.ts";

interface ApiKeyColumns {
  readonly id: string;
  readonly client_id: string;
  readonly name: string;
  readonly prefix: string;
  readonly last4: string;
  readonly created_at: number;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
}

const COLUMNS = `id::text, client_id::text, name, prefix, last4, ${preciseSeconds("created_at")} as created_at,
  ${preciseSeconds("last_used_at")} as last_used_at, ${preciseSeconds("revoked_at")} as revoked_at`;

const keyOf = (row: ApiKeyColumns): ApiKey => ({
  id: row.id,
  clientId: row.client_id,
  name: row.name,
  prefix: row.prefix,
  last4: row.last4,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  revokedAt: row.revoked_at,
});

/** A client in reach, as a CTE: its internal id is $1, the owner asked for (nobody, where all are in reach) is $2. */
const reaching = (name: string, text: (target: string) => string): { readonly [Kind in Reach["kind"]]: Statement } => {
  const target = (mine: string) => `target as (select id, client_id, environment from clients where id = $1::uuid ${mine})`;
  return {
    owner: statement(`${name}_of_owner`, text(target("and owner_id = $2::uuid"))),
    all: statement(name, text(target("and $2::uuid is null"))),
  };
};

const CREATE = reaching(
  "api_key_create",
  (target) => `with ${target},
   created as (
     insert into api_keys (id, client_id, name, prefix, last4, key_hash)
     select $3::uuid, id, $4, $5, $6, $7::bytea from target where environment = 'development' returning *),
   logged as (${insertAudit("created, (select value as audit from jsonb_array_elements($8::jsonb)) as given")})
   select ${COLUMNS} from created`,
);

const OF_CLIENT = reaching(
  "api_keys_of_client",
  (target) => `with ${target} select ${COLUMNS} from api_keys where client_id in (select id from target) order by api_keys.id desc`,
);

// A key that is revoked already is returned as it is, and nothing is written of it.
const REVOKE = reaching(
  "api_key_revoke",
  (target) => `with ${target},
   revoked as (
     update api_keys set revoked_at = now()
     where id = $3::uuid and client_id in (select id from target) and revoked_at is null returning *),
   logged as (${insertAudit(
     "(select value || jsonb_build_object('client_id', target.client_id) as audit from revoked, target, jsonb_array_elements($4::jsonb)) as told",
   )})
   select ${COLUMNS} from revoked`,
);
const REVOKED = reaching(
  "api_key_revoked",
  (target) =>
    `with ${target} select ${COLUMNS} from api_keys where id = $3::uuid and client_id in (select id from target) and revoked_at is not null`,
);

const BY_HASH = statement(
  "api_key_by_hash",
  `select key_id, stale, client.* from (
     select id::text as key_id, client_id as of_client, (last_used_at is null or last_used_at <= now() - interval '1 minute') as stale
     from api_keys where key_hash = $1::bytea and revoked_at is null) as key,
   lateral (
     select ${CLIENT_COLUMNS} from clients
     where clients.id = key.of_client and enabled and environment = 'development'
       and (owner_id is null or exists (select 1 from users where users.id = clients.owner_id and users.enabled))) as client`,
);
const TOUCH = statement(
  "api_key_touch",
  "update api_keys set last_used_at = now() where id = $1::uuid and (last_used_at is null or last_used_at <= now() - interval '1 minute')",
);

const ownerOf = (reach: Reach): string | null => (reach.kind === "owner" ? reach.userId : null);
const only = ([row]: readonly ApiKeyColumns[]): ApiKey | undefined => (row === undefined ? undefined : keyOf(row));

export const apiKeys = (sql: Sql): ApiKeys => ({
  create: async ({ id, clientId, name, prefix, last4, hash }, reach, audit) => {
    const told = jsonRows([auditRow(audit)]);
    const parameters = [clientId, ownerOf(reach), id, name, prefix, last4, hash, told];
    return isUuid(clientId) ? only(await sql.query<ApiKeyColumns>(CREATE[reach.kind], parameters)) : undefined;
  },

  ofClient: async (clientId, reach) =>
    isUuid(clientId) ? (await sql.query<ApiKeyColumns>(OF_CLIENT[reach.kind], [clientId, ownerOf(reach)])).map(keyOf) : [],

  revoke: async (keyId, clientId, reach, audit) => {
    if (!isUuid(clientId) || !isUuid(keyId)) return undefined;
    const parameters = [clientId, ownerOf(reach), keyId];
    const revoked = only(await sql.query<ApiKeyColumns>(REVOKE[reach.kind], [...parameters, jsonRows([auditRow(audit)])]));
    return revoked ?? only(await sql.query<ApiKeyColumns>(REVOKED[reach.kind], parameters));
  },
});

export const apiKeyDirectory = (sql: Sql): ApiKeyDirectory => ({
  byHash: async (hash) => {
    const [row] = await sql.query<ClientColumns & { readonly key_id: string; readonly stale: boolean }>(BY_HASH, [hash]);
    if (row === undefined) return undefined;
    if (row.stale) await sql.query(TOUCH, [row.key_id]);
    return { keyId: row.key_id, client: clientOf(row) };
  },
});
