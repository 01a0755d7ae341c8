import type { ClientDirectory } from "../clients/ports.ts";
import { CLIENT_COLUMNS, type ClientColumns, clientOf } from "./client-rows.ts";
import { coalesceReads } from "./coalesce.ts";
import { isStorable, type Sql, statement } from "./sql.ts";

const BY_CLIENT_ID = statement("client_by_client_id", `select ${CLIENT_COLUMNS} from clients where client_id = any($1::text[])`);

export function clientDirectory(sql: Sql): ClientDirectory {
  const load = coalesceReads(async (clientIds: readonly string[]) => {
    const rows = await sql.query<ClientColumns>(BY_CLIENT_ID, [clientIds]);
    return new Map(rows.map((row) => [row.client_id, clientOf(row)]));
  }, String);
  return { byClientId: async (clientId) => (isStorable(clientId) ? load(clientId) : undefined) };
}
