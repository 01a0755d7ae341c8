/** A statement under a name: PostgreSQL parses and plans it once for each connection. One name has one text for ever. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export const statement = (name: string, text: string): Statement => ({ name, text });

/** What both drivers encode alike. Times go in as seconds (`to_timestamp($1)`), UUIDs as text. */
export type Parameter = string | number | boolean | null | Uint8Array | readonly string[];

/**
 * The database as the stores use it. Rows come back alike from both drivers if statements return text, boolean, int4, float8 (times as
 * `seconds` or `preciseSeconds`), jsonb, text[] and bytea alone.
 */
export interface Sql {
  /**
   * Runs one statement, which is a transaction by itself.
   * @throws {Refusal} temporarily_unavailable when the database cannot be reached or a deadline has passed; whether it took effect is then
   * unknown
   */
  query<Row>(statement: Statement, parameters: readonly Parameter[]): Promise<Row[]>;
  /** Runs `work` in one transaction, and once more when it collided with others (mayBeRepeated). */
  transaction<Result>(work: (tx: Pick<Sql, "query">) => Promise<Result>): Promise<Result>;
}

/** Seconds since the epoch, whole, of a timestamptz expression. */
export const seconds = (expression: string): string => `floor(extract(epoch from ${expression}))::float8`;

/** Seconds since the epoch with their milliseconds, for times that are told and decide nothing. */
export const preciseSeconds = (expression: string): string => `(floor(extract(epoch from ${expression}) * 1000) / 1000)::float8`;

/**
 * A statement that is asked often, and for many rows at once: they come as one text, which costs a fraction of columns that are read one by
 * one. For readRows. Bytes must be told as hexadecimal.
 */
export const rowsStatement = (name: string, text: string): Statement =>
  statement(name, `select coalesce(json_agg(found), '[]')::text as rows from (${text}) as found`);

/** The rows of a statement that tells them as one text, `rows`, such as rowsStatement makes. */
export async function readRows<Row>(sql: Pick<Sql, "query">, rows: Statement, parameters: readonly Parameter[]): Promise<Row[]> {
  const [found] = await sql.query<{ rows: string }>(rows, parameters);
  return found === undefined ? [] : (JSON.parse(found.rows) as Row[]);
}

/**
 * SQL that holds a column to the few keys of a batch, beside the join that pairs the rows: with it the index on the column is used whatever
 * statistics there are. Without, a batch that is taken for a hundred rows reads the whole of a table that has grown since it was last
 * analysed.
 * @param column of the table  @param key the same as an expression over `batch`
 */
export const amongKeys = (column: string, key: string, batch: string): string => `${column} = any(array(select ${key} from ${batch}))`;

/**
 * A moment for a condition that no index is to answer: most rows of the last minutes meet it, and it stands beside a key that finds the few.
 */
export const unindexed = (moment: string): string => `(${moment} + interval '0')`;

/** Likewise a text. */
export const unindexedText = (text: string): string => `(${text} || '')`;

/** A statement that deletes the rows for which `which` holds, and takes their locks in the order of their keys (docs/decisions/0014-locks-in-one-order.md). */
export const deleteInOrder = (table: string, key: string, which: string, order = key): string =>
  `delete from ${table} where ${key} = any(array(select ${key} from ${table} where ${which} order by ${order} for update))`;

/** PostgreSQL has no NUL in text; a key that has one can be in no row. */
export const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** What a row may hold on its way through jsonb. Bytes travel as hexadecimal (`hex`, and `decode(…, 'hex')` there). */
export type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [member: string]: Json };

/**
 * Rows as one jsonb parameter, for jsonb_to_recordset: the same on both drivers, whatever the number of rows.
 * What jsonb cannot hold (NUL, lone surrogates) is replaced by U+FFFD.
 */
export function jsonRows(rows: readonly { readonly [member: string]: Json }[]): string {
  const json = JSON.stringify(rows);
  return /\\u(?:0000|d[89a-f])/.test(json) ? JSON.stringify(rows, (_, value: Json) => storable(value)) : json;
}

const storable = (value: Json): Json => (typeof value === "string" ? value.replaceAll("\0", "\ufffd").toWellFormed() : value);

export const fromHex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
