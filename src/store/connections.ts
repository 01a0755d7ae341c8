import { isDeepStrictEqual } from "node:util";
import type { AuditEntry } from "../audit.ts";
import { EMPTY_PAGE } from "../paging.ts";
import { isUuid } from "../random.ts";
import { type Connection, type OfferedConnection, SETTING_MEMBERS } from "../upstream/connection.ts";
import type { ConnectionSort, Connections, ManagedConnections } from "../upstream/ports.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { adding, changing, removing } from "./managed-records.ts";
import { isStorable, jsonRows, type Sql, statement, type Tx } from "./sql.ts";
import { CONNECTIONS } from "./tables/sign-in.ts";
import { without } from "./tables/table.ts";

const OFFERED = statement(
  "connections_offered",
  `select ${CONNECTIONS.select(["name", "title", "domains"])} from connections
   where enabled and realm_id = coalesce(
     (select clients.realm_id from clients where client_id = $1), (select realms.id from realms where realms.name = 'default'))
   order by connections.created_at, connections.id`,
);
const BY_NAME = statement("connection_by_name", `select ${CONNECTIONS.select()} from connections where connections.name = $1`);
const LOCK = statement("connection_lock", `select ${CONNECTIONS.select()} from connections where connections.name = $1 for update`);
const LIST: ListDescription<ConnectionSort> = {
  table: CONNECTIONS,
  select: CONNECTIONS.select(),
  search: ["name", "title", "issuer"],
  sorts: { name: { by: 'connections.name collate "C"', type: "text", order: "asc" }, created: { by: null, order: "desc" } },
};

export const connections = (sql: Tx): Connections => ({
  offered: async (clientId) => sql.query<OfferedConnection>(OFFERED, [clientId !== undefined && isStorable(clientId) ? clientId : null]),
  byName: async (name) => (isStorable(name) ? (await sql.query<Connection>(BY_NAME, [name]))[0] : undefined),
});

const NEW = without(CONNECTIONS.members, ["createdAt", "updatedAt"]);
const newRow = CONNECTIONS.writer(NEW);
const ADD = adding("connection_add", CONNECTIONS, NEW, "name", "join realms on realms.id = input.realm_id");

const CHANGEABLE = [...SETTING_MEMBERS, "secret"] as const;
const changedRow = CONNECTIONS.writer(CHANGEABLE);
const CHANGE = changing("connection_change", CONNECTIONS, CHANGEABLE);
const REMOVE = removing("connection_remove", "connections", "name = $1", "$2");

/** An audit record that names the provider. */
const entry = (audit: AuditEntry, issuer: string): string => jsonRows([{ ...audit, resources: [issuer] }]);

/** Stores a connection. @returns undefined for a name that is taken, or an unknown realm */
export const addConnection = async (tx: Tx, ...[connection, audit]: Parameters<ManagedConnections["add"]>) =>
  (await tx.query<Connection>(ADD, [jsonRows([newRow(connection)]), entry(audit, connection.issuer)]))[0];

/** Changes a connection within a transaction. @returns what `decide` was given when nothing changes */
export async function changeConnection(tx: Tx, ...[name, decide, audit]: Parameters<ManagedConnections["change"]>) {
  const [found] = await tx.query<Connection>(LOCK, [name]);
  if (found === undefined) return undefined;
  const row = changedRow(decide(found));
  if (isDeepStrictEqual(row, changedRow(found))) return found;
  return (await tx.query<Connection>(CHANGE, [found.id, jsonRows([row]), entry(audit, found.issuer)]))[0];
}

export const managedConnections = (sql: Sql): ManagedConnections => ({
  list: async ({ search, ...where }, part) =>
    isUuid(where.realmId) ? listPage<Connection, ConnectionSort>(sql, LIST, { where, search }, part) : EMPTY_PAGE,
  one: async (name) => (await sql.query<Connection>(BY_NAME, [name]))[0],
  add: async (connection, audit) => (isUuid(connection.realmId) ? addConnection(sql, connection, audit) : undefined),
  change: (name, decide, audit) => sql.transaction((tx) => changeConnection(tx, name, decide, audit)),
  remove: async (name, audit) => (await sql.query(REMOVE, [name, jsonRows([audit])])).length > 0,
});
