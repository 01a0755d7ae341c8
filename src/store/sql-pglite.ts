import type { PGlite, Transaction } from "@electric-sql/pglite";
import type { Parameter, Sql, Statement } from "./sql.ts";
import { asUnavailable, repeatedOnce, storageUnavailable } from "./unavailable.ts";

async function run<Row>(on: PGlite | Transaction, { text }: Statement, parameters: readonly Parameter[]): Promise<Row[]> {
  try {
    return (await on.query<Row>(text, [...parameters])).rows;
  } catch (error) {
    throw asUnavailable(error);
  }
}

/**
 * The embedded database: one connection, on which statements and transactions wait for each other. Inside a transaction only its `tx` may
 * be used; any other statement would deadlock.
 */
export const pgliteSql = (database: PGlite): Sql => ({
  query: (statement, parameters) => repeatedOnce(() => run(database, statement, parameters)),
  transaction: async (work) => {
    if (database.closed) throw storageUnavailable(new Error("the embedded database is closed"));
    return repeatedOnce(() => database.transaction((tx) => work({ query: (statement, parameters) => run(tx, statement, parameters) })));
  },
});
