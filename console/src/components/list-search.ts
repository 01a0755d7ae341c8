/** What a list keeps in the address: a search, an order, and its filters. All are text. */
export type ListSearch<Key extends string> = { readonly [Member in Key]?: string };

/** For `validateSearch` of a route: keeps the members that the list knows. */
export const listSearch =
  <const Key extends string>(...keys: readonly Key[]) =>
  (search: Readonly<Record<string, unknown>>): ListSearch<Key> =>
    Object.fromEntries(
      keys.flatMap((key) => (typeof search[key] === "string" && search[key] !== "" ? [[key, search[key]]] : [])),
    ) as ListSearch<Key>;

/** A member that has only these values; any other one is left out. */
export const oneOf = <Value extends string>(values: readonly Value[], text: string | undefined): Value | undefined =>
  values.find((value) => value === text);

/** A filter of two states as the API takes it. */
export const stateOf = (text: string | undefined): boolean | undefined => (text === undefined ? undefined : text === "true");

/** A time of the address, which has it in UTC, as the API takes it: in milliseconds since the epoch. */
export function timeOf(text = ""): number | undefined {
  const at = Date.parse(text);
  return at >= 0 ? at : undefined;
}

/** An order as it is in the address: a column, with `-` in front for descending. */
export const toggledSort = (sort: string | undefined, column: string): string => (sort === `-${column}` ? column : `-${column}`);

/** The order as the API takes it. */
export function sortOf<Column extends string>(sort: string | undefined, columns: readonly Column[]) {
  const column = oneOf(columns, sort?.replace(/^-/, ""));
  return column === undefined ? {} : { sort: column, order: sort?.startsWith("-") ? ("desc" as const) : ("asc" as const) };
}
