import { isUuid } from "../../random.ts";
import { hex, isStorable, type Json, preciseSeconds, seconds, snake } from "../sql.ts";

/** `seconds` and `preciseSeconds` are timestamptz, read as seconds since the epoch: whole, or with milliseconds. */
type ColumnType =
  | "uuid"
  | "text"
  | "boolean"
  | "integer"
  | "bigint"
  | "seconds"
  | "preciseSeconds"
  | "bytea"
  | "text[]"
  | "uuid[]"
  | "jsonb";

interface ColumnOptions<Value = unknown> {
  readonly primary?: true;
  /** With the name `<table>_<column>_unique`, and likewise `_index`. */
  readonly unique?: true;
  readonly index?: true;
  readonly autoincrement?: true;
  /** SQL expression. */
  readonly default?: string;
  /** The only values, by the check `<table>_<column>_check`. */
  readonly oneOf?: readonly Value[];
}

/** A column whose values are read as `Value`. */
export interface Column<Value = unknown> extends ColumnOptions {
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** The values are keys of this table. */
  readonly references?: { readonly table: string; readonly onDelete: "cascade" | "no action" };
  /** Carries the type alone. */
  readonly value?: Value;
}

const column =
  <Default>(type: ColumnType) =>
  <const Value extends Default = Default>(options: ColumnOptions<Value> = {}): Column<Value> => ({ type, nullable: false, ...options });

export const uuid = column<string>("uuid");
export const text = column<string>("text");
export const boolean = column<boolean>("boolean");
export const integer = column<number>("integer");
export const bigint = column<number>("bigint");
export const wholeTime = column<number>("seconds");
export const time = column<number>("preciseSeconds");
export const bytes = column<Uint8Array>("bytea");
export const texts = column<readonly string[]>("text[]");
export const uuids = column<readonly string[]>("uuid[]");
export const json = column<unknown>("jsonb");

/** A UUIDv7 made by the database: it begins with the time, so that new rows land at the end of an index. */
export const id = (): Column<string> => uuid({ primary: true, default: "uuid_v7()" });
export const createdAt = (): Column<number> => time({ default: "now()" });
/** Of a user or client: increases when all its sign-ins or grants end at once. Elsewhere: the epoch when the row was written. */
export const epoch = (): Column<number> => integer({ default: "0" });

export const nullable = <Value>(one: Column<Value>): Column<Value | null> => ({ ...one, nullable: true }) as Column<Value | null>;

export const reference = (
  table: string,
  { onDelete = "cascade", ...options }: ColumnOptions<string> & { readonly onDelete?: "cascade" | "no action" } = {},
): Column<string> => ({ ...uuid(options), references: { table, onDelete } });

export type Columns = Readonly<Record<string, Column>>;

/** Constraints and indexes over more than one column, by their full names. */
export interface TableExtras {
  /** SQL conditions as PostgreSQL prints them, to be compared with the schema. */
  readonly checks?: Readonly<Record<string, string>>;
  /** What follows `on <table>` in `create index`. */
  readonly indexes?: Readonly<Record<string, string>>;
  readonly uniqueIndexes?: Readonly<Record<string, string>>;
  readonly uniques?: Readonly<Record<string, readonly string[]>>;
  /** Ranges of a column, and the default partition of a new database. */
  readonly partitions?: { readonly by: string; readonly others: string };
}

type Row<C extends Columns> = { readonly [Member in keyof C]: C[Member] extends Column<infer Value> ? Value : never };
export type RowOf<T extends Pick<Table, "columns">> = Row<T["columns"]>;
export type Table<C extends Columns = Columns> = ReturnType<typeof table<C>>;
export type AnyTable = Pick<Table, "name" | "columns" | "extras" | "members" | "column">;

/** SQL that reads a column as a type that a statement may select (Sql). */
function reading({ type }: Column, column: string): string {
  switch (type) {
    case "seconds":
      return seconds(column);
    case "preciseSeconds":
      return preciseSeconds(column);
    case "uuid":
    case "uuid[]":
      return `${column}::${type === "uuid" ? "text" : "text[]"}`;
    case "bigint":
      return `${column}::float8`;
    default:
      return column;
  }
}

/** The type of a value in a recordset. Bytes are hexadecimal, times are seconds. */
const travelling = ({ type }: Column): string => {
  if (type === "seconds" || type === "preciseSeconds") return "float8";
  return type === "bytea" ? "text" : type;
};

/** SQL for the column's value from its recordset. */
function arriving({ type }: Column, value: string): string {
  if (type === "seconds" || type === "preciseSeconds") return `to_timestamp(${value})`;
  return type === "bytea" ? `decode(${value}, 'hex')` : value;
}

/**
 * Describes a table. The row type, select lists, insert lists, recordsets, writers and the MikroORM entity (entities.ts) derive from it.
 * Members are in camel case, columns in snake case.
 */
export function table<C extends Columns>(name: string, columns: C, extras: TableExtras = {}) {
  type Member = keyof C & string;
  const members = Object.keys(columns) as readonly Member[];
  const of = (member: Member): Column => columns[member] as Column;
  return {
    name,
    columns,
    extras,
    members,
    column: snake,
    /** Whether a row can have this value: a text that is no UUID or cannot be stored is refused where it is compared. */
    mayHold(member: string, value: unknown): boolean {
      if (typeof value !== "string") return true;
      return columns[member]?.type === "uuid" ? isUuid(value) : isStorable(value);
    },
    /** A select list that names columns by member. @param from the table, its alias, or a CTE that returns its rows */
    select(selected: readonly Member[] = members, from = name): string {
      return selected.map((member) => `${reading(of(member), `${from}.${snake(member)}`)} as "${member}"`).join(", ");
    },
    /** A column list for an insert. */
    names(chosen: readonly Member[]): string {
      return chosen.map(snake).join(", ");
    },
    /** Names and types for jsonb_to_recordset, of rows made by `writer`. */
    recordset(chosen: readonly Member[]): string {
      return chosen.map((member) => `${snake(member)} ${travelling(of(member))}`).join(", ");
    },
    /** Names and types of members, for jsonb_to_record of a record without bytes and times, which needs no `writer`. */
    typed(chosen: readonly Member[]): string {
      return chosen.map((member) => `"${member}" ${of(member).type}`).join(", ");
    },
    /** The values of such a recordset, for an insert. @param from alias of the recordset */
    values(chosen: readonly Member[], from?: string): string {
      return chosen.map((member) => arriving(of(member), `${from === undefined ? "" : `${from}.`}${snake(member)}`)).join(", ");
    },
    /** `column = value, …` for an update from such a recordset. */
    assignments(chosen: readonly Member[], from: string): string {
      return chosen.map((member) => `${snake(member)} = ${arriving(of(member), `${from}.${snake(member)}`)}`).join(", ");
    },
    /** A function that turns a record into a row for jsonRows. */
    writer<Written extends Member>(chosen: readonly Written[]) {
      const plan = chosen.map((member) => ({ member, column: snake(member), isBytes: of(member).type === "bytea" }));
      return (record: { readonly [M in Written]: Row<C>[M] | undefined }): { [column: string]: Json } => {
        const row: { [column: string]: Json } = {};
        for (const { member, column, isBytes } of plan) {
          const value: unknown = record[member];
          if (value !== undefined) row[column] = isBytes && value instanceof Uint8Array ? hex(value) : (value as Json);
        }
        return row;
      };
    },
  };
}

export const without = <Member extends string, Left extends Member>(
  members: readonly Member[],
  left: readonly Left[],
): readonly Exclude<Member, Left>[] => members.filter((member): member is Exclude<Member, Left> => !left.includes(member as Left));
