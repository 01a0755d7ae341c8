import { LRUCache } from "lru-cache";
import type { Client } from "../clients/client.ts";
import type { ClientDirectory } from "../clients/ports.ts";
import { asSecretHash } from "../random.ts";
import { CLIENT } from "./clients.ts";
import { coalesceReads } from "./coalesce.ts";
import { fromHex, isStorable, type Sql, statement } from "./sql.ts";
import { CLIENTS } from "./tables/clients.ts";

const BY_CLIENT_ID = statement(
  "client_by_client_id",
  `select "clientId" as key, encode("secretHash", 'hex') as secret, row_to_json(found)::text as row
   from (select ${CLIENTS.select(CLIENT)} from clients where client_id = any($1::text[])) as found`,
);

type FoundRow = { readonly key: string; readonly secret: string | null; readonly row: string };

const REMEMBERED_ROWS = 10_000;

/** Clients by client_id. Every look-up reads the rows; a parsed row is reused while its text is the same. */
export function clientDirectory(sql: Sql): ClientDirectory {
  const parsed = new LRUCache<string, { readonly row: string; readonly client: Client }>({ max: REMEMBERED_ROWS });

  const entryOf = ({ key, secret, row }: FoundRow): [clientId: string, client: Client] => {
    const earlier = parsed.get(key);
    if (earlier?.row === row) return [key, earlier.client];
    const client = { ...(JSON.parse(row) as Client), secretHash: secret === null ? null : asSecretHash(fromHex(secret)) };
    parsed.set(key, { row, client });
    return [key, client];
  };

  const load = coalesceReads(async (clientIds: readonly string[]) => {
    const rows = await sql.query<FoundRow>(BY_CLIENT_ID, [clientIds]);
    return new Map(rows.map(entryOf));
  }, String);
  return { byClientId: async (clientId) => (isStorable(clientId) ? load(clientId) : undefined) };
}
