import type { PushedRequests } from "../core/ports.ts";
import { type Sql, statement } from "./sql.ts";

const PUT = statement(
  "pushed_put",
  `insert into pushed_requests (id_hash, client_id, query, expires_at) values ($1::bytea, $2, $3, now() + make_interval(secs => $4::int))`,
);

const OPEN = statement(
  "pushed_open",
  `update pushed_requests set browser = $3, expires_at = greatest(expires_at, created_at + make_interval(secs => $4::int))
   where id_hash = $1::bytea and client_id = $2 and expires_at > now() and code_hash is null and (browser is null or browser = $3)
   returning query`,
);

const OPENED = statement(
  "pushed_opened",
  `select query from pushed_requests where id_hash = $1::bytea and client_id = $2 and expires_at > now() and browser is not null`,
);

type Row = { readonly query: string };

export const pushedRequests = (sql: Sql): PushedRequests => ({
  put: async (hash, clientId, query, ttl) => {
    await sql.query(PUT, [hash, clientId, query, ttl]);
  },
  open: async (hash, clientId, browser, ttl) => (await sql.query<Row>(OPEN, [hash, clientId, browser, ttl]))[0]?.query,
  opened: async (hash, clientId) => (await sql.query<Row>(OPENED, [hash, clientId]))[0]?.query,
});
