import { type OfferedConnection, SETTING_MEMBERS } from "../upstream/connection.ts";
import type { ConnectionSort, Connections, ManagedConnections } from "../upstream/ports.ts";
import { managedRecords } from "./managed-records.ts";
import { type Sql, statement, type Tx } from "./sql.ts";
import { CONNECTIONS } from "./tables/sign-in.ts";
import { without } from "./tables/table.ts";

const OFFERED = statement(
  "connections_offered",
  `select ${CONNECTIONS.select(["name", "title", "domains"])} from connections where enabled order by created_at, id`,
);

/** Stores connections; undefined for a name that is taken, or an unknown realm. */
export const connectionRecords = managedRecords("connection", CONNECTIONS, {
  key: ["name"],
  added: without(CONNECTIONS.members, ["createdAt", "updatedAt"]),
  changed: [...SETTING_MEMBERS, "secret"],
  about: ({ issuer }) => ({ resources: [issuer] }),
  joined: "join realms on realms.id = input.realm_id",
});

export const connections = (sql: Tx): Connections => ({
  offered: () => sql.query<OfferedConnection>(OFFERED, []),
  byName: (name) => connectionRecords.on(sql).one({ name }),
});

export const managedConnections = (sql: Sql): ManagedConnections =>
  connectionRecords.managed<ConnectionSort>(sql, {
    search: ["name", "title", "issuer"],
    sorts: { name: { by: 'connections.name collate "C"', type: "text", order: "asc" }, created: { by: null, order: "desc" } },
  });
