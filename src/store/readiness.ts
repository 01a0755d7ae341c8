import { type Sql, statement } from "./sql.ts";
import { isOutOfRoom, storageUnavailable } from "./unavailable.ts";

const PING = statement("ping", "select 1 as one");
const READ_ONLY = statement("read_only", "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only");
// A meaningless row, which the sweep deletes.
const WRITE = statement(
  "write_probe",
  `insert into consumed_ids (kind, id_hash, expires_at) values ('write_probe', '', now())
   on conflict (kind, id_hash) do update set expires_at = excluded.expires_at`,
);
const NOW = statement("database_clock", "select extract(epoch from clock_timestamp())::float8 as now");

export interface Readiness {
  /** @throws {Refusal} temporarily_unavailable when the database does not answer */
  ping(): Promise<void>;
  /** Also checks writes: by writing, if one failed because the disk was full. @throws {Refusal} temporarily_unavailable */
  writes(): Promise<void>;
  /** The database's clock, in seconds since the epoch with their fraction. */
  time(): Promise<number>;
}

/** A database, and whether a write to it has failed because disk or quota are full. */
export type WatchedSql = { readonly sql: Sql; readonly full: { since: boolean } };

/** Notes writes that fail because disk or quota are full; reads still succeed then. */
export function watchWrites(sql: Sql): WatchedSql {
  const full = { since: false };
  const noted = (error: unknown): never => {
    full.since ||= isOutOfRoom(error);
    throw error;
  };
  return {
    sql: {
      query: (one, parameters) => sql.query<never>(one, parameters).catch(noted),
      transaction: (work) => sql.transaction(work).catch(noted),
    },
    full,
  };
}

/** @param full see watchWrites */
export const readiness = (sql: Sql, full: WatchedSql["full"] = { since: false }): Readiness => ({
  ping: async () => {
    await sql.query(PING, []);
  },
  writes: async () => {
    const [row] = await sql.query<{ read_only: boolean }>(READ_ONLY, []);
    if (row?.read_only !== false) throw storageUnavailable(new Error("the database is read-only"));
    if (!full.since) return;
    await sql.query(WRITE, []);
    full.since = false;
  },
  time: async () => {
    const [row] = await sql.query<{ now: number }>(NOW, []);
    if (row === undefined) throw new Error("the database did not say what time it is");
    return row.now;
  },
});
