import type { EntitySchema, FilterQuery } from "@mikro-orm/postgresql";
import { Refusal } from "../errors.ts";
import { loadOnce } from "../load-once.ts";
import { EMPTY_PAGE, type Order, type Page, type Part, TOTAL_LIMIT } from "../paging.ts";
import { isUuid } from "../random.ts";
import { isStorable, type Parameter, type Tx } from "./sql.ts";
import type { Table } from "./tables/table.ts";

/** By what a list is sorted: SQL that is never null and has an index together with `id`; null: by `id` alone, which is by age. */
export interface SortKey {
  readonly by: string | null;
  readonly type?: "text" | "timestamptz";
  readonly order: Order;
}

/** The sort of a page by its name, with the order that was asked for. */
export type NamedSort = SortKey & { readonly name: string };

/** The last row of a page. */
export type Position = { readonly id: string; readonly value: string | null };

/** The cursor behind a row. A list by age needs the id alone. */
export const cursorAt = ({ id, value }: Position, { by, name, order }: NamedSort): string =>
  by === null ? id : Buffer.from(JSON.stringify([name, order, value, id])).toString("base64url");

const unusable = (cause?: unknown): Refusal =>
  new Refusal("invalid_request", "cursor_unusable", {
    description: "This cursor belongs to another list or order. Ask for the first page.",
    cause,
  });

/** @throws {Refusal} invalid_request for a cursor that this list with this sort and order has not given */
export function positionOf(cursor: string, sort: NamedSort): Position {
  if (sort.by === null) return { id: idIn(cursor), value: null };
  const [name, order, value, id] = partsOf(cursor);
  if (name !== sort.name || order !== sort.order || typeof id !== "string" || !isUuid(id)) throw unusable();
  if (typeof value !== "string" || !isValue(value, sort)) throw unusable();
  return { id, value };
}

/** Of a list by age. */
function idIn(cursor: string): string {
  if (!isUuid(cursor)) throw unusable();
  return cursor;
}

/**
 * A page of a list by age that has a statement of its own.
 * @param read at most so many rows older than the one with this id; null: from the newest on  @throws {Refusal} as positionOf
 */
export async function pageByAge<Row extends { readonly id: string }>(
  { limit, cursor }: Part,
  read: (after: string | null, most: number) => Promise<readonly Row[]>,
): Promise<Page<Row>> {
  const rows = await read(cursor === undefined ? null : idIn(cursor), limit + 1);
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null, total: null };
}

function partsOf(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(parts) ? parts : [];
  } catch (cause) {
    throw unusable(cause);
  }
}

/** As PostgreSQL prints a time in JSON. */
const TIME = /^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?[+-](?:0\d|1[0-4]):\d\d$/;

/** Whether PostgreSQL reads it as a time; a query that it refuses is a fault. */
const isTime = (value: string): boolean => TIME.test(value) && !Number.isNaN(Date.parse(value)) && isDay(value.slice(0, 10));

/** A day beyond the end of its month reads as one of the next. */
const isDay = (text: string): boolean => new Date(text).toISOString().startsWith(text);

const isValue = (value: string, { type }: SortKey): boolean =>
  type === "timestamptz" ? value === "-infinity" || isTime(value) : isStorable(value);

/** A list over one table, which is its own alias. SQL in it is fixed; values become parameters. */
export interface ListDescription<Sort extends string> {
  readonly table: Pick<Table, "name" | "mayHold">;
  readonly select: string;
  /** The member that refers to another table, and the alias of that. */
  readonly joins?: Readonly<Record<string, string>>;
  /** Members in which a text is searched. */
  readonly search?: readonly string[];
  /** The first is the default. */
  readonly sorts: Readonly<Record<Sort, SortKey>>;
}

/** SQL with a `?` for each value. */
export type Fragment = readonly [text: string, values: readonly unknown[]];

export interface ListFilter {
  /** Conditions by member, as MikroORM reads them; undefined ones are left out. */
  readonly where?: Readonly<Record<string, unknown>>;
  /** SQL, with its values. */
  readonly conditions?: readonly Fragment[];
  /** A part of one of the members that the description names, or an id. */
  readonly search?: string | undefined;
}

/** MikroORM's query builder over all tables. It opens no connection. */
const composer = loadOnce(async () => {
  const [{ MikroORM, raw }, { entities }] = await Promise.all([import("@mikro-orm/postgresql"), import("./tables/entities.ts")]);
  const { em } = new MikroORM({ entities: [...entities.values()], dbName: "none", ignoreUndefinedInQuery: true, logger: () => {} });
  return { raw, from: (table: string) => em.createQueryBuilder(entities.get(table) as EntitySchema<object>, table) };
});

const asParameter = (value: unknown): Parameter => (value instanceof Date ? value.toISOString() : (value as Parameter));

/** The values of raw SQL, which MikroORM would write into its text: each stands there as `«n»`. */
function rawValues() {
  const values: unknown[] = [];
  return {
    bound: ([text, given]: Fragment): string => {
      let at = 0;
      return text.replaceAll("?", () => `«${values.push(given[at++]) - 1}»`);
    },
    /**
     * Runs a statement that MikroORM composed. It has no name, so that the database plans it for its values: one plan for all of them would
     * read a large table for a rare value.
     */
    run<Row>(sql: Tx, composed: { readonly sql: string; readonly params: readonly unknown[] }): Promise<Row[]> {
      const parameters: Parameter[] = [];
      const place = (value: unknown): string => `$${parameters.push(asParameter(value))}`;
      let at = 0;
      const text = composed.sql
        .replaceAll("?", () => place(composed.params[at++]))
        .replaceAll(/«(\d+)»/g, (_, index: string) => place(values[Number(index)]));
      return sql.query<Row>({ name: "", text }, parameters);
    },
  };
}

/** Below three letters only beginnings match: an index on parts of words finds no shorter parts. */
const SHORT = 3;

/** Matches texts that contain another, case-insensitively. */
const containing = (text: string) => ({ $ilike: `${text.length < SHORT ? "" : "%"}${text.replaceAll(/[\\%_]/g, "\\$&")}%` });

const searching = (members: readonly string[], text: string) => {
  const id = text.toLowerCase();
  return { $or: [...members.map((member) => ({ [member]: containing(text) })), ...(isUuid(id) ? [{ id }] : [])] };
};

const VALUE = "sortValue";

/**
 * A page of a list, in one statement with the total if it is counted. For management only: the statements of token requests are written by
 * hand.
 * @throws {Refusal} invalid_request for a cursor of another list or order; temporarily_unavailable, as Sql.query
 */
export async function listPage<Row extends { readonly id: string }, Sort extends string>(
  sql: Tx,
  { table: { name: table, mayHold }, select, joins = {}, search: searched = [], sorts }: ListDescription<Sort>,
  { where = {}, conditions = [], search }: ListFilter,
  { limit, cursor, sort, order, count }: Part<Sort>,
): Promise<Page<Row>> {
  if (search !== undefined && !isStorable(search)) return EMPTY_PAGE;
  if (!Object.entries(where).every(([member, value]) => mayHold(member, value))) return EMPTY_PAGE;
  const name = sort ?? (Object.keys(sorts)[0] as Sort);
  const sorted: NamedSort = { ...sorts[name], name, ...(order && { order }) };
  const { by } = sorted;
  const { raw, from } = await composer();
  const { bound, run } = rawValues();
  const narrowed = (columns: readonly string[], fragments: readonly Fragment[]) => {
    const query = from(table).select(raw(columns.join(", ")));
    for (const [member, alias] of Object.entries(joins)) query.join(`${table}.${member}` as never, alias);
    query.where({ $and: [where, ...(search === undefined ? [] : [searching(searched, search)])] } as FilterQuery<object>);
    for (const fragment of fragments) query.andWhere(raw(bound(fragment)));
    return query;
  };
  const total = (): string => {
    const counted = narrowed(["1 as one"], conditions).limit(TOTAL_LIMIT + 1);
    const { sql: text, params } = counted.toQuery();
    return `(select count(*)::int from (${bound([text, params])}) as counted) as "total"`;
  };
  const columns = [select, ...(by === null ? [] : [`to_jsonb(${by}) #>> '{}' as "${VALUE}"`]), ...(count ? [total()] : [])];
  const after = cursor === undefined ? [] : [following(cursor, sorted, `${table}.id`)];
  const query = narrowed(columns, [...conditions, ...after]).limit(limit + 1);
  query.orderBy([...(by === null ? [] : [by]), `${table}.id`].map((key) => ({ [raw(key)]: sorted.order })));
  const rows = await run<Row & { readonly [VALUE]?: string; readonly total?: number }>(sql, query.toQuery());
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(({ [VALUE]: _, total: __, ...row }) => row as unknown as Row),
    next: rows.length > limit && last !== undefined ? cursorAt({ id: last.id, value: last[VALUE] ?? null }, sorted) : null,
    total: count ? (rows[0]?.total ?? 0) : null,
  };
}

function following(cursor: string, sort: NamedSort, id: string): Fragment {
  const { by, type, order } = sort;
  const position = positionOf(cursor, sort);
  const than = order === "asc" ? ">" : "<";
  return by === null
    ? [`${id} ${than} ?::uuid`, [position.id]]
    : [`(${by}, ${id}) ${than} (?::${type}, ?::uuid)`, [position.value, position.id]];
}
