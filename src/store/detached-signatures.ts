import type { DetachedSignature, DetachedSignatures } from "../core/ports.ts";
import { coalesceReads, coalesceWrites } from "./coalesce.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

const KEEP = statement(
  "detached_signature_keep",
  `insert into detached_signatures (jti, alg, signature, expires_at)
   select jti, alg, decode(signature, 'base64'), to_timestamp(expires_at)
   from jsonb_to_recordset($1::jsonb) as i(jti text, alg text, signature text, expires_at float8)
   on conflict (jti) do nothing`,
);

const OF = statement(
  "detached_signature_of",
  "select jti, alg, signature from detached_signatures where jti = any(array(select jsonb_array_elements_text($1::jsonb)))",
);

/** A row takes 4.5 kB in a statement, so a batch stays below a third of a megabyte. */
const LIMITS = { batch: 64, queue: 4_096 };

export function detachedSignatures(sql: Sql): DetachedSignatures {
  const keep = coalesceWrites(async (batch: readonly Parameters<DetachedSignatures["keep"]>[]) => {
    const rows = batch.map(([jti, { alg, signature }, expiresAt]) => ({
      jti,
      alg,
      signature: Buffer.from(signature).toString("base64"),
      expires_at: expiresAt,
    }));
    await sql.query(KEEP, [jsonRows(rows)]);
    return batch.map(() => undefined);
  }, LIMITS);
  const load = coalesceReads(
    async (jtis: readonly string[]) => {
      const rows = await sql.query<DetachedSignature & { readonly jti: string }>(OF, [JSON.stringify(jtis)]);
      return new Map(rows.map(({ jti, alg, signature }) => [jti, { alg, signature }]));
    },
    (jti) => jti,
    LIMITS,
  );
  return { keep: (...kept) => keep(kept), of: load };
}
