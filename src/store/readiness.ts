import { type Sql, statement } from "./sql.ts";

const PING = statement("ping", "select 1 as one");
const NOW = statement("database_clock", "select extract(epoch from clock_timestamp())::float8 as now");

export interface Readiness {
  /** @throws {Refusal} temporarily_unavailable when the database does not answer */
  ping(): Promise<void>;
  /** Seconds by which the database's clock is ahead of ours; exact to half of the round trip. */
  clockOffset(): Promise<number>;
}

/** @param milliseconds the process clock, in milliseconds since the epoch */
export const readiness = (sql: Sql, milliseconds: () => number): Readiness => ({
  ping: async () => {
    await sql.query(PING, []);
  },
  clockOffset: async () => {
    const before = milliseconds();
    const [row] = await sql.query<{ now: number }>(NOW, []);
    const middle = (before + milliseconds()) / 2_000;
    return row === undefined ? 0 : row.now - middle;
  },
});
