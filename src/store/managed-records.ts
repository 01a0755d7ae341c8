import { isDeepStrictEqual } from "node:util";
import type { AuditEntry } from "../audit.ts";
import type { Filter, Part } from "../paging.ts";
import { isUuid } from "../random.ts";
import { auditEach } from "./audit-log.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { firstRow, hasRow, jsonRows, type Parameter, type Sql, type Statement, statement, type Tx } from "./sql.ts";
import type { Columns, RowOf, Table } from "./tables/table.ts";

// Records that operators manage. Each statement writes its audit record, and does so only with its effect.

/** Removes the record for which `which` holds. @param audit such as `$2` */
export const removing = (name: string, table: string, which: string, audit: string): Statement =>
  statement(
    name,
    `with removed as (delete from ${table} where ${which} returning id),
     logged as (${auditEach("removed", audit)})
     select id::text as id from removed`,
  );

type Writable<C extends Columns, Member extends keyof C> = Pick<RowOf<Table<C>>, Member>;

/**
 * The records of a table, named by the members of `key`.
 * @param name of its statements  @param about members that a record adds to the audit record of its change, and `named` those that its name
 *   adds to every audit record  @param spelt the one spelling of a name  @param joined what a new row, `input`, is joined with: it is stored
 *   if there is such a row
 */
export function managedRecords<C extends Columns, Member extends keyof C & string, Setting extends Member, Name extends Member>(
  name: string,
  table: Table<C>,
  {
    key,
    added,
    changed,
    named = () => ({}),
    about = () => ({}),
    spelt = (given) => given,
    joined = "",
  }: {
    readonly key: readonly Name[];
    readonly added: readonly Member[];
    readonly changed: readonly Setting[];
    readonly named?: (name: Writable<C, Name>) => Partial<AuditEntry>;
    readonly about?: (record: Writable<C, Member>) => Partial<AuditEntry>;
    readonly spelt?: (name: Writable<C, Name>) => Writable<C, Name>;
    readonly joined?: string;
  },
) {
  type Row = RowOf<Table<C>>;
  const isNamed = key
    .map((member, at) => `${table.name}.${table.column(member)} = $${at + 1}::${table.columns[member]?.type}`)
    .join(" and ");
  const one = `select ${table.select()} from ${table.name} where ${isNamed}`;
  const ONE = statement(`${name}_one`, one);
  const LOCK = statement(`${name}_lock`, `${one} for no key update`);
  const ADD = statement(
    `${name}_add`,
    `with input as (select * from jsonb_to_recordset($1::jsonb) as i(${table.recordset(added)})),
     added as (
       insert into ${table.name} (${table.names(added)}) select ${table.values(added, "input")} from input ${joined}
       on conflict do nothing returning *),
     logged as (${auditEach("added", "$2")})
     select ${table.select(table.members, "added")} from added`,
  );
  const CHANGE = statement(
    `${name}_change`,
    `with input as (select * from jsonb_to_recordset($2::jsonb) as i(${table.recordset(changed)})),
     changed as (
       update ${table.name} set ${table.assignments(changed, "input")}${"updatedAt" in table.columns ? ", updated_at = now()" : ""} from input
       where ${table.name}.id = $1::uuid returning ${table.name}.*),
     logged as (${auditEach("changed", "$3")})
     select ${table.select(table.members, "changed")} from changed`,
  );
  const REMOVE = removing(`${name}_remove`, table.name, isNamed, `$${key.length + 1}`);
  const [addedRow, changedRow] = [table.writer(added), table.writer(changed)];
  const uuids = added.filter((member) => table.columns[member]?.type === "uuid");
  const keyOf = (given: Writable<C, Name>): readonly Parameter[] => {
    const one = spelt(given);
    return key.map((member) => one[member] as Parameter); // columns of a key are texts and ids
  };
  const logged = (audit: AuditEntry, record: Writable<C, Member>) => jsonRows([{ ...audit, ...named(record), ...about(record) }]);
  const on = (tx: Tx) => ({
    one: (given: Writable<C, Name>): Promise<Row | undefined> => firstRow<Row>(tx, ONE, keyOf(given)),
    /** @returns undefined where another record has its name, or a row that it is joined with is missing */
    async add(record: Writable<C, Member>, audit: AuditEntry): Promise<Row | undefined> {
      if (!uuids.every((member) => isUuid(record[member] as string))) return undefined;
      const stored = { ...record, ...spelt(record) };
      return firstRow<Row>(tx, ADD, [jsonRows([addedRow(stored)]), logged(audit, stored)]);
    },
    /**
     * Changes a record, which is locked, within a transaction.
     * @returns the record before and after, the same object when nothing changes; undefined for an unknown one
     */
    async change(given: Writable<C, Name>, decide: (record: Row) => Writable<C, Setting>, audit: AuditEntry) {
      const before = await firstRow<Row & { readonly id: string }>(tx, LOCK, keyOf(given));
      if (before === undefined) return undefined;
      const settings = decide(before);
      const row = changedRow(settings);
      if (isDeepStrictEqual(row, changedRow(before))) return { before, after: before };
      const after = await firstRow<Row>(tx, CHANGE, [before.id, jsonRows([row]), logged(audit, { ...before, ...settings })]);
      return after && { before, after };
    },
    remove: (given: Writable<C, Name>, audit: AuditEntry): Promise<boolean> =>
      hasRow(tx, REMOVE, [...keyOf(given), jsonRows([{ ...audit, ...named(spelt(given)) }])]),
  });
  return {
    on,
    managed: <Sort extends string>(sql: Sql, list: Pick<ListDescription<Sort>, "sorts" | "search">) => ({
      ...on(sql),
      list: ({ search, ...where }: Filter<Row> & Readonly<Record<string, unknown>>, part: Part<Sort>) =>
        listPage<Row & { readonly id: string }, Sort>(sql, { ...list, table, select: table.select() }, { where, search }, part),
      change: async (...change: Parameters<ReturnType<typeof on>["change"]>) =>
        (await sql.transaction((tx) => on(tx).change(...change)))?.after,
    }),
  };
}
