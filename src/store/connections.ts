import type { AuditEntry } from "../audit.ts";
import { isUuid } from "../random.ts";
import { type Connection, type OfferedConnection, SETTING_MEMBERS } from "../upstream/connection.ts";
import type { ConnectionSort, Connections, ManagedConnections } from "../upstream/ports.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { managedRecords } from "./managed-records.ts";
import { isStorable, type Sql, statement, type Tx } from "./sql.ts";
import { CONNECTIONS } from "./tables/sign-in.ts";
import { without } from "./tables/table.ts";

const OFFERED = statement(
  "connections_offered",
  `select ${CONNECTIONS.select(["name", "title", "domains"])} from connections
   where enabled and realm_id = coalesce(
     (select clients.realm_id from clients where client_id = $1), (select realms.id from realms where realms.name = 'default'))
   order by connections.created_at, connections.id`,
);

const records = managedRecords("connection", CONNECTIONS, {
  key: ["name"],
  added: without(CONNECTIONS.members, ["createdAt", "updatedAt"]),
  changed: [...SETTING_MEMBERS, "secret"],
  joined: "join realms on realms.id = input.realm_id",
});

const LIST: ListDescription<ConnectionSort> = {
  table: CONNECTIONS,
  select: CONNECTIONS.select(),
  search: ["name", "title", "issuer"],
  sorts: { name: { by: 'connections.name collate "C"', type: "text", order: "asc" }, created: { by: null, order: "desc" } },
};

export const connections = (sql: Tx): Connections => ({
  offered: async (clientId) => sql.query<OfferedConnection>(OFFERED, [clientId !== undefined && isStorable(clientId) ? clientId : null]),
  byName: (name) => records.one(sql, name),
});

const naming = (audit: AuditEntry, { issuer }: Pick<Connection, "issuer">): AuditEntry => ({ ...audit, resources: [issuer] });

/** Stores a connection. @returns undefined for a name that is taken, or an unknown realm */
export const addConnection = (tx: Tx, ...[connection, audit]: Parameters<ManagedConnections["add"]>) =>
  records.add(tx, connection, naming(audit, connection));

export const changeConnection = (tx: Tx, ...[name, decide, audit]: Parameters<ManagedConnections["change"]>) =>
  records.change(tx, [name], decide, (_, connection) => naming(audit, connection));

export const managedConnections = (sql: Sql): ManagedConnections => ({
  list: ({ search, ...where }, part) => listPage<Connection, ConnectionSort>(sql, LIST, { where, search }, part),
  one: (name) => records.one(sql, name),
  add: async (connection, audit) => (isUuid(connection.realmId) ? addConnection(sql, connection, audit) : undefined),
  change: async (name, decide, audit) => (await sql.transaction((tx) => changeConnection(tx, name, decide, audit)))?.after,
  remove: (name, audit) => records.remove(sql, [name], audit),
});
