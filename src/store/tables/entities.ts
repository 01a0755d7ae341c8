import { defineEntity, type EntitySchema, p } from "@mikro-orm/core";
import * as accounts from "./accounts.ts";
import * as clients from "./clients.ts";
import * as delegations from "./delegations.ts";
import * as grants from "./grants.ts";
import * as records from "./records.ts";
import * as signIn from "./sign-in.ts";
import type { AnyTable, Column } from "./table.ts";

/** These modules export only tables and types. */
const tables = Object.values<AnyTable>({ ...accounts, ...clients, ...delegations, ...grants, ...records, ...signIn });

const TYPES = {
  uuid: () => p.uuid(),
  text: () => p.text(),
  boolean: () => p.boolean(),
  integer: () => p.integer(),
  bigint: () => p.bigint("number"),
  seconds: () => p.datetime().columnType("timestamptz"),
  preciseSeconds: () => p.datetime().columnType("timestamptz"),
  bytea: () => p.blob(),
  "text[]": () => p.array(),
  "uuid[]": () => p.array().columnType("uuid[]"),
  jsonb: () => p.json(),
} satisfies Readonly<Record<Column["type"], () => unknown>>;

/** The builders' common methods; their types differ. */
interface Property {
  fieldName(name: string): Property;
  primary(): Property;
  nullable(): Property;
  autoincrement(on: boolean): Property;
  unique(name: string): Property;
  index(name: string): Property;
  defaultRaw(sql: string): Property;
}

function property(of: AnyTable, member: string, one: Column): () => unknown {
  const column = of.column(member);
  return () => {
    const { references } = one;
    let made = (references === undefined
      ? TYPES[one.type]()
      : p
          .manyToOne(entities.get(references.table) as EntitySchema)
          .mapToPk()
          .updateRule("no action")
          .deleteRule(references.onDelete)) as unknown as Property;
    made = made.fieldName(column);
    if (one.primary) made = made.primary();
    if (one.primary && one.type === "bigint") made = made.autoincrement(one.autoincrement === true);
    if (one.nullable) made = made.nullable();
    if (one.unique) made = made.unique(`${of.name}_${column}_unique`);
    if (one.index) made = made.index(`${of.name}_${column}_index`);
    if (one.default !== undefined) made = made.defaultRaw(one.default);
    return made;
  };
}

/** The check of a column that has only some values, as PostgreSQL prints it. */
function choices(of: AnyTable, member: string): readonly (readonly [name: string, expression: string])[] {
  const { oneOf } = of.columns[member] as Column;
  const column = of.column(member);
  return oneOf === undefined
    ? []
    : [[`${of.name}_${column}_check`, `${column} = any (array[${oneOf.map((value) => `'${value}'::text`).join(", ")}])`]];
}

const entityOfTable = (one: AnyTable): EntitySchema =>
  defineEntity({
    name: one.name,
    tableName: one.name,
    properties: Object.fromEntries(one.members.map((member) => [member, property(one, member, one.columns[member] as Column)])) as Record<
      string,
      never
    >,
    checks: [...Object.entries(one.extras.checks ?? {}), ...one.members.flatMap((member) => choices(one, member))].map(
      ([name, expression]) => ({ name, expression }),
    ),
    uniques: Object.entries(one.extras.uniques ?? {}).map(([name, properties]) => ({ name, properties: [...properties] as never[] })),
    indexes: (["indexes", "uniqueIndexes"] as const).flatMap((kind) =>
      Object.entries(one.extras[kind] ?? {}).map(([name, rest]) => ({
        name,
        expression: `create ${kind === "indexes" ? "" : "unique "}index ${name} on ${one.name} ${rest}`,
      })),
    ),
    ...(one.extras.partitions && {
      partitionBy: {
        type: "range" as const,
        expression: one.extras.partitions.by as never,
        partitions: [{ name: one.extras.partitions.others, values: "default" }],
      },
    }),
  }) as unknown as EntitySchema;

export const entities: ReadonlyMap<string, EntitySchema> = new Map(tables.map((one) => [one.name, entityOfTable(one)]));
