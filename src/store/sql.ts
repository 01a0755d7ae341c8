import { isUuid } from "../random.ts";

/** A named statement, which PostgreSQL parses and plans once for each connection. A name always has the same text. */
export type Statement = { readonly name: string; readonly text: string };

export const statement = (name: string, text: string): Statement => ({ name, text });

export const snake = (member: string): string => member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Statements by member; each has the name of its member behind a prefix. */
export const statements = <Member extends string>(prefix: string, texts: Readonly<Record<Member, string>>) =>
  Object.fromEntries(
    Object.entries<string>(texts).map(([member, text]) => [member, statement(`${prefix}_${snake(member)}`, text)]),
  ) as Readonly<Record<Member, Statement>>;

/** Values that the driver encodes. Times are passed as seconds (`to_timestamp($1)`), UUIDs as text. */
export type Parameter = string | number | boolean | null | Uint8Array | readonly string[];

/**
 * The database. Statements select only text, boolean, int4, float8 (times as `seconds` or `preciseSeconds`), jsonb, text[] and bytea.
 */
export interface Sql {
  /**
   * Runs one statement, which is a transaction by itself.
   * @throws {Refusal} temporarily_unavailable when the database is out of reach or a deadline has passed; it may still have taken effect
   */
  query<Row>(statement: Statement, parameters: readonly Parameter[]): Promise<Row[]>;
  /** Runs `work` in one transaction, and once more after a conflict with others (mayBeRepeated). */
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
}

/** A transaction, or a database on which each statement is one. */
export type Tx = Pick<Sql, "query">;

/** Undoes a transaction on purpose: the connection is as good as before. */
export class Undone<Result> extends Error {
  readonly result: Result;

  constructor(result: Result) {
    super("the transaction was undone");
    this.result = result;
  }
}

/** Runs work in a transaction, which it may undo with a result. */
export const undoable = <Result>(sql: Sql, work: (tx: Tx, undo: (result: Result) => never) => Promise<Result>): Promise<Result> => {
  const undo = (result: Result): never => {
    throw new Undone(result);
  };
  return sql
    .transaction((tx) => work(tx, undo))
    .catch((error: unknown) => {
      if (error instanceof Undone) return error.result as Result;
      throw error;
    });
};

/** Runs a statement for its effect alone. */
export async function execute(sql: Tx, effect: Statement, parameters: readonly Parameter[]): Promise<void> {
  await sql.query(effect, parameters);
}

/** Whether a row can have a key: a text that is no UUID where the statement reads one, or that cannot be stored, is in none. */
function isKey({ text }: Statement, value: Parameter, at: number): boolean {
  if (typeof value === "string") return text.includes(`$${at + 1}::uuid`) ? isUuid(value) : isStorable(value);
  return !Array.isArray(value) || value.every(isStorable);
}

/** The rows of a statement. It is not run, and there are none, for a key that no row can have. */
export async function rowsOf<Row>(sql: Tx, one: Statement, parameters: readonly Parameter[]): Promise<Row[]> {
  for (const [at, value] of parameters.entries()) if (!isKey(one, value, at)) return [];
  return sql.query<Row>(one, parameters);
}

/** The first row of a statement, likewise. */
export const firstRow = async <Row>(sql: Tx, one: Statement, parameters: readonly Parameter[]): Promise<Row | undefined> =>
  (await rowsOf<Row>(sql, one, parameters))[0];

/** Whether a statement has a row, likewise: it finds one, or takes effect. */
export const hasRow = async (sql: Tx, one: Statement, parameters: readonly Parameter[]): Promise<boolean> =>
  (await rowsOf(sql, one, parameters)).length > 0;

/** Whole seconds since the epoch of a timestamptz expression. */
export const seconds = (expression: string): string => `floor(extract(epoch from ${expression}))::float8`;

/** Seconds with milliseconds, for times that are only shown. */
export const preciseSeconds = (expression: string): string => `(floor(extract(epoch from ${expression}) * 1000) / 1000)::float8`;

/** A frequent statement with many rows, for readRows: one JSON text costs a fraction of single columns. Select bytes as hexadecimal. */
export const rowsStatement = (name: string, text: string): Statement =>
  statement(name, `select coalesce(json_agg(found), '[]')::text as rows from (${text}) as found`);

export async function readRows<Row>(sql: Tx, rows: Statement, parameters: readonly Parameter[]): Promise<Row[]> {
  const [found] = await sql.query<{ rows: string }>(rows, parameters);
  return found === undefined ? [] : (JSON.parse(found.rows) as Row[]);
}

/**
 * Limits a column to the keys of a batch, beside the join that pairs the rows. With it the index on the column is always used; without it
 * the planner, which expects a hundred rows of a batch, may read a whole table that has grown since it was analysed.
 * @param column of the table  @param key the same as an expression over `batch`
 */
export const amongKeys = (column: string, key: string, batch: string): string => `${column} = any(array(select ${key} from ${batch}))`;

/** A time in a condition that must not use an index: most recent rows meet it, and a key beside it finds the few that matter. */
export const unindexed = (moment: string): string => `(${moment} + interval '0')`;

/** Likewise for a text. */
export const unindexedText = (text: string): string => `(${text} || '')`;

/** Deletes the rows for which `which` holds, locking them in the order of their keys (docs/decisions/0014). */
export const deleteInOrder = (table: string, key: string, which: string, order = key): string =>
  `delete from ${table} where ${key} = any(array(select ${key} from ${table} where ${which} order by ${order} for update))`;

/** Whether PostgreSQL can store a text: without NUL and unpaired surrogates. A key with one matches no row. */
export const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** A text of others, if it can be stored. */
export const storableOrNull = (text: string | null | undefined): string | null => (text != null && isStorable(text) ? text : null);

/** A value in a jsonb parameter. Bytes are hexadecimal (`hex` here, `decode(…, 'hex')` in SQL). */
export type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [member: string]: Json };

/** Rows as one jsonb parameter, for jsonb_to_recordset. NUL and unpaired surrogates are replaced by U+FFFD. */
export function jsonRows(rows: readonly object[]): string {
  const json = JSON.stringify(rows);
  return /\\u(?:0000|d[89a-f])/.test(json) ? JSON.stringify(rows, (_, value: Json) => storable(value)) : json;
}

const storable = (value: Json): Json => (typeof value === "string" ? value.replaceAll("\0", "\ufffd").toWellFormed() : value);

export const fromHex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
