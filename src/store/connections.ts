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

/** Stores connections; undefined for a name that is taken, or an unknown realm. */
export const connectionRecords = managedRecords("connection", CONNECTIONS, {
  key: ["name"],
  added: without(CONNECTIONS.members, ["createdAt", "updatedAt"]),
  changed: [...SETTING_MEMBERS, "secret"],
  about: ({ issuer }) => ({ resources: [issuer] }),
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
  byName: (name) => connectionRecords.one(sql, name),
});

export const managedConnections = (sql: Sql): ManagedConnections => ({
  list: ({ search, ...where }, part) => listPage<Connection, ConnectionSort>(sql, LIST, { where, search }, part),
  one: (name) => connectionRecords.one(sql, name),
  add: async (connection, audit) => (isUuid(connection.realmId) ? connectionRecords.add(sql, connection, audit) : undefined),
  change: async (name, decide, audit) => (await sql.transaction((tx) => connectionRecords.change(tx, [name], decide, audit)))?.after,
  remove: (name, audit) => connectionRecords.remove(sql, [name], audit),
});
