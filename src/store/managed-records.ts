import { isDeepStrictEqual } from "node:util";
import type { AuditEntry } from "../audit.ts";
import { auditEach } from "./audit-log.ts";
import { firstRow, hasRow, jsonRows, type Parameter, type Statement, statement, type Tx } from "./sql.ts";
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
 * The records of a table, named by the values of `key`.
 * @param name of its statements  @param about members that a record adds to the audit record of its change  @param joined what a new row, `input`, is joined with: it is stored if there is such a row
 */
export function managedRecords<C extends Columns, Member extends keyof C & string, Setting extends Member>(
  name: string,
  table: Table<C>,
  {
    key,
    added,
    changed,
    about,
    joined = "",
  }: {
    readonly key: readonly Member[];
    readonly added: readonly Member[];
    readonly changed: readonly Setting[];
    readonly about: (record: Writable<C, Member>) => Partial<AuditEntry>;
    readonly joined?: string;
  },
) {
  type Row = RowOf<Table<C>>;
  const named = key.map((member, at) => `${table.name}.${table.column(member)} = $${at + 1}::${table.columns[member]?.type}`).join(" and ");
  const one = `select ${table.select()} from ${table.name} where ${named}`;
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
  const REMOVE = removing(`${name}_remove`, table.name, named, `$${key.length + 1}`);
  const [addedRow, changedRow] = [table.writer(added), table.writer(changed)];
  return {
    one: (tx: Tx, ...named: readonly Parameter[]): Promise<Row | undefined> => firstRow<Row>(tx, ONE, named),
    /** @returns undefined where another record has its name, or a row that it is joined with is missing */
    add: (tx: Tx, record: Writable<C, Member>, audit: AuditEntry): Promise<Row | undefined> =>
      firstRow<Row>(tx, ADD, [jsonRows([addedRow(record)]), jsonRows([{ ...audit, ...about(record) }])]),
    /**
     * Changes a record, which is locked, within a transaction.
     * @returns the record before and after, the same object when nothing changes; undefined for an unknown one
     */
    async change(tx: Tx, named: readonly Parameter[], decide: (record: Row) => Writable<C, Setting>, audit: AuditEntry) {
      const before = await firstRow<Row & { readonly id: string }>(tx, LOCK, named);
      if (before === undefined) return undefined;
      const settings = decide(before);
      const row = changedRow(settings);
      if (isDeepStrictEqual(row, changedRow(before))) return { before, after: before };
      const entry = { ...audit, ...about({ ...before, ...settings }) };
      const after = await firstRow<Row>(tx, CHANGE, [before.id, jsonRows([row]), jsonRows([entry])]);
      return after && { before, after };
    },
    remove: (tx: Tx, named: readonly Parameter[], audit: AuditEntry): Promise<boolean> => hasRow(tx, REMOVE, [...named, jsonRows([audit])]),
  };
}
