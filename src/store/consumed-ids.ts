import type { ConsumedIds } from "../core/ports.ts";
import { identifierHash } from "../random.ts";
import { inTime } from "./audit-log.ts";
import { coalesceTransitions } from "./coalesce.ts";
import { hasRow, hex, jsonRows, type Sql, statement, type Tx } from "./sql.ts";

// Of equal ids in a batch the first is used. Sorted, so that two processes with the same ids cannot deadlock.
const CONSUME = statement(
  "consumed_ids_insert",
  `with input as (select n, kind, decode(id_hash, 'hex') as id_hash, ttl, not_after
     from jsonb_to_recordset($1::jsonb) as i(n int, kind text, id_hash text, ttl int, not_after float8)),
   first as (select distinct on (kind, id_hash) * from input order by kind, id_hash, n),
   consumed as (
     insert into consumed_ids (kind, id_hash, expires_at)
     select kind, id_hash, now() + make_interval(secs => ttl) from first where ${inTime("not_after")} order by kind, id_hash
     on conflict (kind, id_hash) do nothing returning kind, id_hash)
   select n from first join consumed using (kind, id_hash)`,
);

const CONSUMED = statement("consumed_id_find", "select 1 as consumed from consumed_ids where kind = $1 and id_hash = $2::bytea");

type Use = Parameters<ConsumedIds["consume"]>;

const rowOf = (...[kind, issuer, id, ttlSeconds, notAfter]: Use) => ({
  kind,
  id_hash: hex(identifierHash(issuer, id)),
  ttl: Math.max(1, Math.ceil(ttlSeconds)),
  not_after: notAfter,
});

/** Consumes an id, in a transaction. @returns whether this was its first use */
export const consume = (tx: Tx, ...use: Use): Promise<boolean> => hasRow(tx, CONSUME, [jsonRows([{ n: 0, ...rowOf(...use) }])]);

export const isConsumed = (sql: Tx, ...[kind, issuer, id]: Parameters<ConsumedIds["isConsumed"]>) =>
  hasRow(sql, CONSUMED, [kind, identifierHash(issuer, id)]);

export const consumedIds = (sql: Sql): ConsumedIds => ({
  consume: coalesceTransitions(sql, CONSUME, rowOf),
  isConsumed: (...id) => isConsumed(sql, ...id),
});
