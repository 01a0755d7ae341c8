import { performance } from "node:perf_hooks";
import { type Sql, statement } from "./sql.ts";

/** Terms of the vacuum. */
export interface VacuumTerms {
  /** Writing transactions between two vacuums of a table, at least. */
  readonly transactions: number;
  /** A table rests so many times as long as its last vacuum took: all requests wait for a vacuum. */
  readonly rest: number;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

const TERMS: VacuumTerms = { transactions: 2_000, rest: 50, now: () => performance.now() };

/** The number of the next transaction, and the tables; none while the database is read-only because its disk is nearly full. */
const STATE = statement(
  "vacuum_state",
  `select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as next,
     array(select oid::regclass::text from pg_class
       where relkind = 'r' and relnamespace = 'public'::regnamespace and current_setting('default_transaction_read_only') = 'off'
       order by oid) as tables`,
);

/**
 * The vacuum of the embedded database, which has no autovacuum: without it the space of deleted rows is never used again, and statements are
 * planned for tables that are empty. Every table is due once after a start.
 * @returns vacuums one table that is due, and returns its name; undefined when none is due
 */
export function embeddedVacuum(sql: Sql, terms: Partial<VacuumTerms> = {}): () => Promise<string | undefined> {
  const { transactions, rest, now } = { ...TERMS, ...terms };
  const last = new Map<string, { readonly transaction: number; readonly restsUntil: number }>();
  return async () => {
    const [state] = await sql.query<{ next: number; tables: readonly string[] }>(STATE, []);
    if (state === undefined) return undefined;
    const begun = now();
    const isDue = (table: string): boolean => {
      const vacuumed = last.get(table);
      return vacuumed === undefined || (begun >= vacuumed.restsUntil && state.next - vacuumed.transaction >= transactions);
    };
    // Those that were not vacuumed yet first, then the one whose turn was longest ago: a Map keeps the order in which they were set.
    const [table] = [...state.tables.filter((one) => !last.has(one)), ...last.keys()].filter(isDue);
    if (table === undefined) return undefined;
    await sql.query(statement("", `vacuum (analyze) ${table}`), []);
    const ended = now();
    last.delete(table);
    last.set(table, { transaction: state.next, restsUntil: ended + (ended - begun) * rest });
    return table;
  };
}
