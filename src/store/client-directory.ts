import { LRUCache } from "lru-cache";
import type { Client } from "../clients/client.ts";
import type { ClientDirectory } from "../clients/ports.ts";
import { CLIENT_COLUMNS, type ClientColumns, clientOf } from "./client-rows.ts";
import { coalesceReads } from "./coalesce.ts";
import { isStorable, type Sql, statement } from "./sql.ts";

const BY_CLIENT_ID = statement(
  "client_by_client_id",
  `select client_id as key, encode(secret_hash, 'hex') as secret, row_to_json(found)::text as row
   from (select ${CLIENT_COLUMNS} from clients where client_id = any($1::text[])) as found`,
);

interface FoundColumns {
  readonly key: string;
  readonly secret: string | null;
  readonly row: string;
}

const REMEMBERED_ROWS = 10_000;

/**
 * Clients by their ids. Every look-up reads the rows; only what a text comes to once it is parsed is remembered, and used again as long as
 * the row has that very text.
 */
export function clientDirectory(sql: Sql): ClientDirectory {
  const parsed = new LRUCache<string, { readonly row: string; readonly client: Client }>({ max: REMEMBERED_ROWS });

  const clientFrom = ({ key, secret, row }: FoundColumns): Client => {
    const known = parsed.get(key);
    if (known?.row === row) return known.client;
    const columns = JSON.parse(row) as ClientColumns;
    const client = clientOf({ ...columns, secret_hash: secret === null ? null : new Uint8Array(Buffer.from(secret, "hex")) });
    parsed.set(key, { row, client });
    return client;
  };

  const load = coalesceReads(async (clientIds: readonly string[]) => {
    const rows = await sql.query<FoundColumns>(BY_CLIENT_ID, [clientIds]);
    return new Map(rows.map((row) => [row.key, clientFrom(row)]));
  }, String);
  return { byClientId: async (clientId) => (isStorable(clientId) ? load(clientId) : undefined) };
}
