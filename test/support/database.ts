import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll } from "vitest";
import type { Database } from "../../src/store/orm.ts";
import { type Parameter, type Sql, type Statement, statement } from "../../src/store/sql.ts";
import { lentDatabase } from "./lent-database.ts";
import { TEST_DATABASE_URL } from "./postgres.ts";

/** The database of the suites of `test/store`: PostgreSQL where TEST_DATABASE_URL names a server (`npm run test:storage`), else the embedded one. */
export interface DatabaseKind {
  readonly name: Database["kind"];
  /** A database with the current schema and only the rows of the migrations, until it is closed. */
  fresh(): Promise<Database>;
}

export const databaseKinds: readonly DatabaseKind[] =
  TEST_DATABASE_URL === undefined
    ? [{ name: "embedded", fresh: freshEmbedded }]
    : [{ name: "postgresql", fresh: async () => (await lentDatabase("postgresql")).database }];

export async function freshEmbedded(): Promise<Database> {
  const { database } = await lentDatabase("embedded");
  return { ...database, sql: oneMillisecondEach(database.sql) };
}

/**
 * The clock of the embedded database counts whole milliseconds, and two statements fit into one: rows of both would have no order. What
 * a test runs after another call has answered is therefore at least a millisecond younger.
 */
function oneMillisecondEach(sql: Sql): Sql {
  const later = async <Result>(answer: Promise<Result>): Promise<Result> => {
    const result = await answer;
    for (const answered = Date.now(); Date.now() === answered; ) await setTimeout(1);
    return result;
  };
  return {
    query: <Row>(text: Statement, parameters: readonly Parameter[]) => later(sql.query<Row>(text, parameters)),
    transaction: (work) => later(sql.transaction(work)),
  };
}

/** One database for the tests of a `describe`, from before the first to after the last of them. */
export function sharedDatabase(fresh: () => Promise<Database>): () => Database {
  let database: Database | undefined;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database?.close());
  return () => {
    if (database === undefined) throw new Error("the database of a test is there when the test runs");
    return database;
  };
}

/** Runs a statement of a test. */
export const runText = <Row>(sql: Pick<Sql, "query">, text: string, parameters: readonly Parameter[] = []): Promise<Row[]> =>
  sql.query<Row>(statement(`test_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`, text), parameters);

/** A database whose transactions are overtaken: when the statement of this name has run, another change has just been committed. */
export const overtaken = (sql: Sql, name: string, change: string): Sql => ({
  ...sql,
  transaction: (work) =>
    sql.transaction((tx) =>
      work({
        query: async <Row>(text: Statement, parameters: readonly Parameter[]) => {
          const rows = await tx.query<Row>(text, parameters);
          if (text.name === name) await runText(tx, change);
          return rows;
        },
      }),
    ),
});
