import { type Sql, statement } from "./sql.ts";

const PING = statement("ping", "select 1 as one");
const NOW = statement("database_clock", "select extract(epoch from clock_timestamp())::float8 as now");

export interface Readiness {
  /** @throws {Refusal} temporarily_unavailable when the database does not answer */
  ping(): Promise<void>;
  /** The database's clock, in seconds since the epoch with their fraction. */
  time(): Promise<number>;
}

export const readiness = (sql: Sql): Readiness => ({
  ping: async () => {
    await sql.query(PING, []);
  },
  time: async () => {
    const [row] = await sql.query<{ now: number }>(NOW, []);
    if (row === undefined) throw new Error("the database did not say what time it is");
    return row.now;
  },
});
