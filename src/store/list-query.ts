import { hash } from "node:crypto";
import type { EntitySchema, FilterQuery, OrderDefinition } from "@mikro-orm/postgresql";
import type { Page } from "../clients/ports.ts";
import { loadOnce } from "../load-once.ts";
import { type Parameter, type Sql, statement } from "./sql.ts";
import type { Table } from "./tables/table.ts";

/** A list over one table, which is its own alias. SQL in it is fixed; values go into `where` alone, and become parameters. */
export interface ListQuery {
  /** SQL of the select list. */
  readonly select: string;
  /** Relations to be joined: the member of the table that refers to the other, and the alias of that. */
  readonly joins?: Readonly<Record<string, string>>;
  /** Conditions by member, as MikroORM reads them; one that is undefined is left out. */
  readonly where: Readonly<Record<string, unknown>>;
  /** Further conditions in SQL. */
  readonly conditions?: readonly string[];
  readonly order: Readonly<Record<string, "asc" | "desc">>;
  readonly limit?: number;
}

/** MikroORM's query builder over all tables, on either database. It opens no connection. */
const composer = loadOnce(async () => {
  const [{ MikroORM, raw }, { entities }] = await Promise.all([import("@mikro-orm/postgresql"), import("./tables/entities.ts")]);
  const { em } = new MikroORM({ entities: [...entities.values()], dbName: "none", ignoreUndefinedInQuery: true, logger: () => {} });
  return ({ name }: Pick<Table, "name">, { select, joins = {}, where, conditions = [], order, limit }: ListQuery) => {
    const query = em.createQueryBuilder(entities.get(name) as EntitySchema<object>, name).select(raw(select));
    for (const [member, alias] of Object.entries(joins)) query.join(`${name}.${member}` as never, alias);
    query.where(where as FilterQuery<object>).orderBy(order as OrderDefinition<object>);
    for (const condition of conditions) query.andWhere(raw(condition));
    if (limit !== undefined) query.limit(limit);
    return query.toQuery();
  };
});

const asParameter = (value: unknown): Parameter => (value instanceof Date ? value.toISOString() : (value as Parameter));

/**
 * The rows of a list whose filters vary. MikroORM composes the statement; it runs like every other one, with the same deadlines and
 * refusals. For management: the statements of token requests are written by hand.
 * @throws {Refusal} temporarily_unavailable, as Sql.query
 */
export async function listRows<Row>(sql: Pick<Sql, "query">, table: Pick<Table, "name">, list: ListQuery): Promise<Row[]> {
  const composed = (await composer())(table, list);
  let parameter = 0;
  const text = composed.sql.replaceAll("?", () => `$${++parameter}`);
  // Lists of one shape share a statement, which the database plans once.
  const shared = statement(`${table.name}_list_${hash("sha256", text).slice(0, 16)}`, text);
  return sql.query<Row>(shared, composed.params.map(asParameter));
}

/** A condition for a text that contains another, in any case. */
export const containing = (text: string) => ({ $ilike: `%${text.replaceAll(/[\\%_]/g, "\\$&")}%` });

/** A condition for what follows the last id of a page, newest first. Undefined: the first page. */
export const before = (id: string | undefined) => id && { $lt: id };

/** A page of items of which one more than `limit` was requested: if it is there, another page follows. */
export function pageOf<Item extends { readonly id: string }>(items: readonly Item[], limit: number): Page<Item> {
  const page = items.slice(0, limit);
  return { items: page, next: items.length > limit ? (page.at(-1)?.id ?? null) : null };
}
