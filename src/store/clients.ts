import { isDeepStrictEqual } from "node:util";
import { LRUCache } from "lru-cache";
import type { AuditEntry } from "../audit.ts";
import { type Client, MOST_CLIENTS, SETTING_MEMBERS } from "../clients/client.ts";
import type { ClientChange, ClientDirectory, ClientSort, DocumentVersions, ManagedClients, NewClient, Reach } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import type { DocumentHistory, DocumentVersion } from "../management/report-ports.ts";
import { asSecretHash } from "../random.ts";
import { auditEach, insertAudit } from "./audit-log.ts";
import { NOTED_EVERY, USES } from "./audit-sealer.ts";
import { coalesceReads } from "./coalesce.ts";
import { type Fragment, type ListDescription, listPage } from "./list-query.ts";
import { assertRemoved, beginRemoval, EVERY_EPOCH } from "./removals.ts";
import {
  firstRow,
  fromHex,
  hasRow,
  isStorable,
  jsonRows,
  preciseSeconds,
  rowsOf,
  type Sql,
  statement,
  statements,
  type Tx,
} from "./sql.ts";
import { CLIENT_DOCUMENTS, CLIENTS } from "./tables/clients.ts";
import { without } from "./tables/table.ts";

/** The members of a client; the store keeps its epoch to itself. */
export const CLIENT = without(CLIENTS.members, ["epoch"]);
const NEW = without(CLIENT, ["id", "createdAt", "updatedAt", "lastUsedAt"]);

// Grants of a deleted client that are not revoked yet would count for a new one with its client_id. Locks the owner: the deletion of a large
// account waits for the client, and then deletes it.
const REGISTER = statement(
  "client_register",
  `with input as (select * from jsonb_to_recordset($1::jsonb) as i(id uuid, ${CLIENTS.recordset(NEW)}, audit jsonb)),
   owner as materialized (
     select users.id from input join users on users.id = input.owner_id and users.deleted_at is null for key share of users),
   added as (
     insert into clients (id, ${CLIENTS.names(NEW)})
     select coalesce(id, uuid_v7()), ${CLIENTS.values(NEW)} from input
     where (owner_id is null or exists (select 1 from owner))
       and not exists (select 1 from removals where kind = 'client_deleted' and key = client_id)
     on conflict (client_id) do nothing returning *),
   logged as (${insertAudit("added, (select audit from input) as entries")})
   select ${CLIENTS.select(CLIENT, "added")} from added`,
);
const newRow = CLIENTS.writer(NEW);

/**
 * Registers a client, within a transaction.
 * @throws {Refusal} conflict when the client_id is taken, or the owner does not exist; temporarily_unavailable while a deleted client of
 *   this client_id is being removed
 */
export async function storeNewClient(
  tx: Tx,
  client: Omit<NewClient, "id"> & { readonly id: string | null },
  audit: AuditEntry,
): Promise<Client> {
  const [added] = await tx.query<Client>(REGISTER, [
    jsonRows([{ id: client.id, ...newRow(client), audit: { ...audit, ...allowance(client) } }]),
  ]);
  await assertRemoved(tx, client.clientId); // looks again, for the statement may have waited for the deletion
  if (added !== undefined) return added;
  throw new Refusal("conflict", "client_id_taken", { description: "There is already a client with this client_id." });
}

const ROOM = statements("client_room", {
  /** Registrations of the same developer come one after the other, so that each sees the clients of those before it. */
  lockOwner: "select 1 as one from users where id = $1::uuid for no key update",
  isTaken: `select 1 as one from clients where owner_id = $1::uuid and origin = 'developer' offset ${MOST_CLIENTS - 1} limit 1`,
});

/** @throws {Refusal} conflict for a developer who has made as many clients as one may have */
async function assertRoom(tx: Tx, ownerId: string): Promise<void> {
  await tx.query(ROOM.lockOwner, [ownerId]);
  if (!(await hasRow(tx, ROOM.isTaken, [ownerId]))) return;
  const description = `A developer has at most ${MOST_CLIENTS} clients. Delete one that is not used any more.`;
  throw new Refusal("conflict", "too_many_clients", { description });
}

/** Parameter $2 of the statements on what is IN_REACH. */
export const ownerOf = (reach: Reach): string | null => (reach.kind === "owner" ? reach.userId : null);
export const IN_REACH = "clients.id = $1::uuid and ($2::uuid is null or clients.owner_id = $2::uuid)";

/** A record of a change names the client. */
const NAMED = { clientId: "client_id" };

/** What a client may do, in the record of its registration or change. Pure. */
const allowance = ({ scopes, audience }: Pick<Client, "scopes" | "audience">): Partial<AuditEntry> => ({
  ...(scopes.length > 0 && { scope: scopes.join(" ") }),
  ...(audience !== null && { resources: audience }),
});

const CHANGEABLE = [...SETTING_MEMBERS, "secretHash"] as const;
const CHANGE = statement(
  "client_change",
  `with input as (
     select * from jsonb_to_recordset($2::jsonb) as i(${CLIENTS.recordset(CHANGEABLE)})),
   changed as (
     update clients set ${CLIENTS.assignments(CHANGEABLE, "input")}, epoch = clients.epoch + (clients.enabled and not input.enabled)::int,
       updated_at = now()
     from input where clients.id = $1::uuid and (input.owner_id is null or exists (select 1 from users where users.id = input.owner_id and users.deleted_at is null))
     returning clients.*),
   logged as (${auditEach("changed", "$3", NAMED)})
   select ${CLIENTS.select(CLIENTS.members, "changed")} from changed`,
);
const changedRow = CLIENTS.writer(CHANGEABLE);

/** What a change adds to its record: which members it sets, what the client may do by it, and resources that it loses. Pure. */
function said(before: Client, row: Readonly<Record<string, unknown>>, settings: ClientChange["settings"]): Partial<AuditEntry> {
  const rowBefore: Readonly<Record<string, unknown>> = changedRow(before);
  const changed = CHANGEABLE.filter((member) => !isDeepStrictEqual(row[CLIENTS.column(member)], rowBefore[CLIENTS.column(member)]));
  const words: Readonly<Record<string, string>> = { enabled: settings.enabled ? "enabled" : "disabled", secretHash: "secret" };
  const reason = changed.map((member) => words[member] ?? member).join(" ");
  if (!changed.includes("scopes") && !changed.includes("audience")) return { reason };
  const resources = new Set([...(settings.audience ?? []), ...(before.audience ?? [])]);
  return { reason, ...allowance({ scopes: settings.scopes, audience: resources.size === 0 ? null : [...resources] }) };
}

const secretAfter = (before: Client, secret: ClientChange["secret"]) => {
  if (secret === "kept") return before.secretHash;
  return secret === "dropped" ? null : secret;
};

/**
 * Stores a change of a locked client, with its record.
 * @returns the same object when nothing changes, and undefined when its owner does not exist
 */
export async function storeChange(
  tx: Tx,
  before: Client,
  { settings, secret }: ClientChange,
  audit: AuditEntry,
): Promise<Client | undefined> {
  const row = changedRow({ ...settings, secretHash: secretAfter(before, secret) });
  if (isDeepStrictEqual(row, changedRow(before))) return before;
  const logged = { ...audit, ...said(before, row, settings) };
  const [changed] = await tx.query<Client & { readonly epoch: number }>(CHANGE, [before.id, JSON.stringify([row]), jsonRows([logged])]);
  if (changed === undefined) return undefined;
  const { epoch, ...client } = changed;
  // Earlier grants stay inactive when the client is enabled again, even those not yet removed: the epoch has moved on.
  if (!client.enabled) await beginRemoval(tx, "client_disabled", client.clientId, epoch);
  return { ...client, lastUsedAt: before.lastUsedAt };
}

/** Has an index. */
const LAST_USED = "coalesce(clients.last_used_at, '-infinity')";

/** Neither used nor registered since. @param moment SQL of seconds since the epoch */
const UNUSED = (moment: string): string => `${LAST_USED} < to_timestamp(${moment}) and clients.created_at < to_timestamp(${moment})`;

/**
 * The members of a client, as it is shown: its last use is noted when the record of it is sealed (auditSealer), and is here before, too.
 * @param row `clients`, or a CTE that returns its rows
 */
const shown = (row: string): string =>
  `${CLIENTS.select(without(CLIENT, ["lastUsedAt"]), row)}, ${preciseSeconds(
    `(select case when ${row}.last_used_at >= max(at) - ${NOTED_EVERY} then ${row}.last_used_at else coalesce(max(at), ${row}.last_used_at) end
   from (select event, at from audit_records where audit_records.client_id = ${row}.client_id order by id desc limit 10) as latest
   where event in ('${USES.join("', '")}'))`,
  )} as "lastUsedAt"`;

const BY_ID = `select ${shown("clients")} from clients where ${IN_REACH}`;

const SQL = statements("client", {
  byId: BY_ID,
  lock: `${BY_ID} for no key update of clients`,
  ofOwner: `select ${shown("clients")} from clients where owner_id = $1::uuid order by clients.id desc`,
  replaceSecret: `with changed as (
     update clients set secret_hash = $3::bytea, updated_at = now()
     where ${IN_REACH} and token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post') returning *),
   logged as (${auditEach("changed", "$4", NAMED)})
   select ${shown("changed")} from changed`,
  delete: `with deleted as (
     delete from clients where ${IN_REACH} and origin <> 'built_in' and ($4::float8 is null or ${UNUSED("$4")}) returning client_id),
   logged as (${auditEach("deleted", "$3", NAMED)})
   select client_id from deleted`,
});

const unused = (since: number | undefined): readonly Fragment[] => (since === undefined ? [] : [[UNUSED("?"), [since, since]]]);

const LIST: ListDescription<ClientSort> = {
  table: CLIENTS,
  select: CLIENTS.select(CLIENT),
  search: ["name", "clientId"],
  sorts: {
    created: { by: null, order: "desc" },
    name: { by: "lower(left(clients.name, 100))", type: "text", order: "asc" },
    lastUsed: { by: LAST_USED, type: "timestamptz", order: "desc" },
  },
};

export const managedClients = (sql: Sql): ManagedClients => ({
  register: (client, audit) =>
    sql.transaction(async (tx) => {
      if (client.origin === "developer" && client.ownerId !== null) await assertRoom(tx, client.ownerId);
      return storeNewClient(tx, client, audit);
    }),

  ofOwner: (userId) => rowsOf<Client>(sql, SQL.ofOwner, [userId]),

  list: ({ search, unusedSince, ...where }, part) => listPage(sql, LIST, { where, conditions: unused(unusedSince), search }, part),

  byId: (id, reach) => firstRow<Client>(sql, SQL.byId, [id, ownerOf(reach)]),

  change: (id, reach, decide, audit) =>
    sql.transaction(async (tx) => {
      const client = await firstRow<Client>(tx, SQL.lock, [id, ownerOf(reach)]);
      return client && storeChange(tx, client, decide(client), audit);
    }),

  replaceSecret: (id, reach, hash, audit) => firstRow<Client>(sql, SQL.replaceSecret, [id, ownerOf(reach), hash, jsonRows([audit])]),

  delete: (id, reach, audit, unusedSince) =>
    sql.transaction(async (tx) => {
      const parameters = [id, ownerOf(reach), jsonRows([audit]), unusedSince ?? null];
      const deleted = await firstRow<{ client_id: string }>(tx, SQL.delete, parameters);
      if (deleted === undefined) return false;
      // If the client_id is registered again, nothing earlier may count for its new owner.
      await beginRemoval(tx, "client_deleted", deleted.client_id, EVERY_EPOCH);
      return true;
    }),
});

const BY_CLIENT_ID = statement(
  "client_by_client_id",
  `select "clientId" as key, encode("secretHash", 'hex') as secret, row_to_json(found)::text as row
   from (select ${CLIENTS.select(CLIENT)} from clients where client_id = any($1::text[])) as found`,
);

type FoundRow = { readonly key: string; readonly secret: string | null; readonly row: string };

/** Characters of the rows that are remembered parsed: registered clients can have rows of 16 KiB, and there is no bound to their number. */
const REMEMBERED = 16 * 1_048_576;

/** Clients by client_id. Every look-up reads the rows; a parsed row is reused while its text is the same. */
export function clientDirectory(sql: Sql): ClientDirectory {
  const parsed = new LRUCache<string, { readonly row: string; readonly client: Client }>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ row }) => row.length,
  });

  const load = coalesceReads(async (clientIds: readonly string[]) => {
    const found = new Map<string, Client>();
    for (const { key, secret, row } of await sql.query<FoundRow>(BY_CLIENT_ID, [clientIds])) {
      let known = parsed.get(key);
      if (known?.row !== row) {
        known = { row, client: { ...(JSON.parse(row) as Client), secretHash: secret === null ? null : asSecretHash(fromHex(secret)) } };
        parsed.set(key, known);
      }
      found.set(key, known.client);
    }
    return found;
  }, String);
  return { byClientId: async (clientId) => (isStorable(clientId) ? load(clientId) : undefined) };
}

/** Documents that are kept of one client. */
export const KEPT_VERSIONS = 20;

// Of two processes that store at once the primary key lets one through; the other one's document is stored when it is fetched again.
const STORE = statement(
  "client_document_store",
  `with latest as (select version, digest from client_documents where client_id = $1 order by version desc limit 1),
   seen as (
     update client_documents set seen_at = now() from latest
     where client_documents.client_id = $1 and client_documents.version = latest.version and latest.digest = sha256(convert_to($2, 'UTF8')) returning 1),
   added as (
     insert into client_documents (client_id, version, digest, document)
     select $1, coalesce((select version from latest), 0) + 1, sha256(convert_to($2, 'UTF8')), $2
     where not exists (select from latest where digest = sha256(convert_to($2, 'UTF8')))
       and (exists (select from latest) or exists (select from consents where client_id = $1))
     on conflict do nothing returning version),
   dropped as (
     delete from client_documents where client_id = $1 and version <= (select version from added) - ${KEPT_VERSIONS})
   select exists (select from seen) or exists (select from added) as stored`,
);

const OF = statement(
  "client_documents_of",
  `select ${CLIENT_DOCUMENTS.select(["version", "document", "createdAt", "seenAt"])}, encode(digest, 'hex') as digest, octet_length(document) as size
   from client_documents where client_id = $1 order by version desc`,
);

export const documentVersions = (sql: Tx): DocumentVersions => ({
  store: async (url, document) => (await firstRow<{ stored: boolean }>(sql, STORE, [url, document]))?.stored === true,
});

export const documentHistory = (sql: Tx): DocumentHistory => ({
  of: (clientId) => rowsOf<DocumentVersion>(sql, OF, [clientId]),
});
