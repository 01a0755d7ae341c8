import { appSecretPlace } from "../accounts/second-factor.ts";
import { openedOrNot, type SecretBox } from "../secret-box.ts";
import { secretPlace } from "../upstream/connection.ts";
import { statement, type Tx } from "./sql.ts";

/** Rows that are read at a time. */
const BATCH = 200;

/** A column of sealed texts, by the key of its table, and the place that a text is sealed for. */
const sealedColumn = (table: string, key: string, place: (key: string) => string) => ({
  place,
  next: statement(
    `reseal_next_${table}`,
    `select ${key}::text as key, secret from ${table}
     where secret is not null and not starts_with(secret, $1) and ${key} > $2::uuid order by ${key} limit ${BATCH}`,
  ),
  replace: statement(`reseal_${table}`, `update ${table} set secret = $3 where ${key} = $1::uuid and secret = $2 returning 1 as one`),
});

const COLUMNS = [sealedColumn("authenticator_apps", "user_id", appSecretPlace), sealedColumn("connections", "id", secretPlace)];

const FIRST = "00000000-0000-0000-0000-000000000000";

/**
 * Seals by the present key what another key has sealed. Of two processes each secret is replaced once.
 * @returns how many it has replaced, and how many no key opens
 */
export async function reseal(sql: Tx, box: SecretBox, signal: AbortSignal): Promise<{ replaced: number; unreadable: number }> {
  const counts = { replaced: 0, unreadable: 0 };
  for (const { next, replace, place } of COLUMNS) {
    let rows: readonly { readonly key: string; readonly secret: string }[] = [];
    do {
      rows = await sql.query<{ key: string; secret: string }>(next, [box.prefix(), rows.at(-1)?.key ?? FIRST]);
      for (const { key, secret } of rows) {
        if (signal.aborted) return counts;
        const plain = openedOrNot(box, secret, place(key));
        if (plain === undefined) counts.unreadable += 1;
        else counts.replaced += (await sql.query(replace, [key, secret, box.seal(plain, place(key))])).length;
      }
    } while (rows.length === BATCH);
  }
  return counts;
}
