import { type ApiKey, MOST_VALID_KEYS } from "../clients/api-key.ts";
import type { Client } from "../clients/client.ts";
import type { ApiKeyDirectory, ApiKeys } from "../clients/ports.ts";
import { auditEach } from "./audit-log.ts";
import { CLIENT, IN_REACH, ownerOf } from "./clients.ts";
import { firstRow, hasRow, jsonRows, rowsOf, type Sql, statements } from "./sql.ts";
import { API_KEYS, CLIENTS } from "./tables/clients.ts";
import { without } from "./tables/table.ts";

const API_KEY = without(API_KEYS.members, ["keyHash"]);

const TARGET = `target as (select id, client_id, environment from clients where ${IN_REACH})`;

/** Keys in a list, revoked ones last. */
const MOST_LISTED = 500;
/** Revoked keys that stay, so that a list has all. The audit trail has the others. */
const KEPT_REVOKED = MOST_LISTED - MOST_VALID_KEYS;
/** Revoked keys that one call removes: a former release kept any number. */
const REMOVED_AT_ONCE = 1_000;

const SQL = statements("api_key", {
  /** Calls for the same client come one after the other, so that each sees the keys of those before it. */
  lockClient: `select 1 as one from clients where ${IN_REACH} for no key update`,
  create: `with ${TARGET},
   created as (
     insert into api_keys (id, client_id, name, prefix, last4, key_hash)
     select $3::uuid, id, $4, $5, $6, $7::bytea from target where environment = 'development'
       and (select count(*) from api_keys where client_id = target.id and revoked_at is null) < ${MOST_VALID_KEYS} returning *),
   removed as (
     delete from api_keys where id = any(array(
       select api_keys.id from api_keys join created on api_keys.client_id = created.client_id where api_keys.revoked_at is not null
       order by api_keys.id desc offset ${KEPT_REVOKED} limit ${REMOVED_AT_ONCE}))),
   logged as (${auditEach("created", "$8")})
   select ${API_KEYS.select(API_KEY, "created")} from created`,
  ofClient: `with ${TARGET}
   select ${API_KEYS.select(API_KEY)} from (
     select * from api_keys where client_id in (select id from target)
     order by revoked_at is not null, id desc limit ${MOST_LISTED}) as api_keys order by api_keys.id desc`,
  // A key that was revoked earlier is returned unchanged, without a record.
  revoke: `with ${TARGET},
   revoked as (
     update api_keys set revoked_at = now()
     where id = $3::uuid and client_id in (select id from target) and revoked_at is null returning *),
   logged as (${auditEach("revoked, target", "$4", { clientId: "target.client_id" })})
   select ${API_KEYS.select(API_KEY, "revoked")} from revoked`,
  revoked: `with ${TARGET}
   select ${API_KEYS.select(API_KEY)} from api_keys where id = $3::uuid and client_id in (select id from target) and revoked_at is not null`,
  byHash: `select "keyId", stale, client.* from (
     select id::text as "keyId", client_id as of_client, (last_used_at is null or last_used_at <= now() - interval '1 minute') as stale
     from api_keys where key_hash = $1::bytea and revoked_at is null) as key,
   lateral (
     select ${CLIENTS.select(CLIENT)} from clients
     where clients.id = key.of_client and enabled and environment = 'development'
       and (owner_id is null or exists (select 1 from users where users.id = clients.owner_id and users.enabled))) as client`,
  touch:
    "update api_keys set last_used_at = now() where id = $1::uuid and (last_used_at is null or last_used_at <= now() - interval '1 minute')",
});

export const apiKeys = (sql: Sql): ApiKeys => ({
  create: ({ id, clientId, name, prefix, last4, hash }, reach, audit) =>
    sql.transaction(async (tx) => {
      const target = [clientId, ownerOf(reach)];
      if (!(await hasRow(tx, SQL.lockClient, target))) return undefined;
      return firstRow<ApiKey>(tx, SQL.create, [...target, id, name, prefix, last4, hash, jsonRows([audit])]);
    }),

  ofClient: (clientId, reach) => rowsOf<ApiKey>(sql, SQL.ofClient, [clientId, ownerOf(reach)]),

  revoke: async (keyId, clientId, reach, audit) => {
    const parameters = [clientId, ownerOf(reach), keyId];
    const revoked = await firstRow<ApiKey>(sql, SQL.revoke, [...parameters, jsonRows([audit])]);
    return revoked ?? (await firstRow<ApiKey>(sql, SQL.revoked, parameters));
  },
});

export const apiKeyDirectory = (sql: Sql): ApiKeyDirectory => ({
  byHash: async (hash) => {
    const [row] = await sql.query<Client & { readonly keyId: string; readonly stale: boolean }>(SQL.byHash, [hash]);
    if (row === undefined) return undefined;
    const { keyId, stale, ...client } = row;
    if (stale) await sql.query(SQL.touch, [keyId]);
    return { keyId, client };
  },
});
