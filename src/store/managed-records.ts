import { entriesIn, insertAudit } from "./audit-log.ts";
import { type Statement, statement } from "./sql.ts";
import type { Columns, Table } from "./tables/table.ts";

// Statements on records that operators manage. Each writes its audit record, and does so only with its effect.

/** Adds a row, `input`, unless another has its key. Parameters: row, audit. @param joined what `input` is joined with */
export const adding = <C extends Columns>(
  name: string,
  table: Table<C>,
  members: readonly (keyof C & string)[],
  key: string,
  joined = "",
): Statement =>
  statement(
    name,
    `with input as (select * from jsonb_to_recordset($1::jsonb) as i(${table.recordset(members)})),
     added as (
       insert into ${table.name} (${table.names(members)}) select ${table.values(members, "input")} from input ${joined}
       on conflict (${key}) do nothing returning *),
     logged as (${insertAudit(`added, ${entriesIn("$2")}`)})
     select ${table.select(table.members, "added")} from added`,
  );

/** Changes members of a record. Parameters: id, row, audit. */
export const changing = <C extends Columns>(name: string, table: Table<C>, members: readonly (keyof C & string)[]): Statement =>
  statement(
    name,
    `with input as (select * from jsonb_to_recordset($2::jsonb) as i(${table.recordset(members)})),
     changed as (
       update ${table.name} set ${table.assignments(members, "input")}, updated_at = now() from input
       where ${table.name}.id = $1::uuid returning ${table.name}.*),
     logged as (${insertAudit(`changed, ${entriesIn("$3")}`)})
     select ${table.select(table.members, "changed")} from changed`,
  );

/** Removes the record for which `which` holds. @param audit such as `$2` */
export const removing = (name: string, table: string, which: string, audit: string): Statement =>
  statement(
    name,
    `with removed as (delete from ${table} where ${which} returning id),
     logged as (${insertAudit(`removed, ${entriesIn(audit)}`)})
     select id::text as id from removed`,
  );
