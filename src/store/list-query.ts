import { hash } from "node:crypto";
import type { EntitySchema, FilterQuery, OrderDefinition } from "@mikro-orm/postgresql";
import type { Page } from "../clients/ports.ts";
import { loadOnce } from "../load-once.ts";
import { type Parameter, type Sql, statement } from "./sql.ts";
import type { Table } from "./tables/table.ts";

/** A list over one table, which is its own alias. SQL in it is fixed; values go only into `where`, and become parameters. */
export interface ListQuery {
  readonly select: string;
  /** The member that refers to another table, and the alias of that. */
  readonly joins?: Readonly<Record<string, string>>;
  /** Conditions by member, as MikroORM reads them; undefined ones are left out. */
  readonly where: Readonly<Record<string, unknown>>;
  /** SQL. */
  readonly conditions?: readonly string[];
  readonly order: Readonly<Record<string, "asc" | "desc">>;
  readonly limit?: number;
}

/** MikroORM's query builder over all tables. It opens no connection. */
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
 * The rows of a list with varying filters. MikroORM composes the statement, which runs like any other. For management only: the statements
 * of token requests are written by hand.
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

/** Matches texts that contain another, case-insensitively. */
export const containing = (text: string) => ({ $ilike: `%${text.replaceAll(/[\\%_]/g, "\\$&")}%` });

/** Matches what follows the last id of a page, newest first. Undefined: the first page. */
export const before = (id: string | undefined) => id && { $lt: id };

/** A page of items. @param items up to one more than `limit`: the extra one shows that another page follows */
export function pageOf<Item extends { readonly id: string }>(items: readonly Item[], limit: number): Page<Item> {
  const page = items.slice(0, limit);
  return { items: page, next: items.length > limit ? (page.at(-1)?.id ?? null) : null };
}
