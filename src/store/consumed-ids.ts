import { createHash } from "node:crypto";
import type { ConsumedIds } from "../core/ports.ts";
import { type Sql, statement } from "./sql.ts";

const CONSUME = statement(
  "consumed_id_insert",
  `insert into consumed_ids (kind, id_hash, expires_at) values ($1, $2::bytea, now() + make_interval(secs => $3::int))
   on conflict (kind, id_hash) do nothing returning 1 as consumed`,
);

const CONSUMED = statement("consumed_id_find", "select 1 as consumed from consumed_ids where kind = $1 and id_hash = $2::bytea");

/** Issuer and identifier are a stranger's texts of any length; their lengths keep two pairs from having one digest. */
const digest = (issuer: string, id: string): Uint8Array => createHash("sha256").update(`${issuer.length}:${issuer}`).update(id).digest();

/** Uses up an identifier, in a transaction or by itself. @returns whether this was the first use */
export const consume = async (sql: Pick<Sql, "query">, ...[kind, issuer, id, ttlSeconds]: Parameters<ConsumedIds["consume"]>) =>
  (await sql.query(CONSUME, [kind, digest(issuer, id), Math.max(1, Math.ceil(ttlSeconds))])).length === 1;

/** Whether an identifier has been used up, for whoever only asks. */
export const isConsumed = async (sql: Pick<Sql, "query">, ...[kind, issuer, id]: Parameters<ConsumedIds["isConsumed"]>) =>
  (await sql.query(CONSUMED, [kind, digest(issuer, id)])).length === 1;

export const consumedIds = (sql: Sql): ConsumedIds => ({
  consume: (...given) => consume(sql, ...given),
  isConsumed: (...given) => isConsumed(sql, ...given),
});
