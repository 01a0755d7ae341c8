/** The content of a cell. An empty one is shown as a dash. */
export type Cell = string | number | boolean | null | undefined | readonly string[];

/** Control characters and changes of direction, which must not reach the terminal. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

export const printable = (text: string): string => text.replace(UNSAFE, "");

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === "" || (Array.isArray(cell) && cell.length === 0)) return "-";
  if (cell === true) return "yes";
  if (cell === false) return "no";
  return printable(Array.isArray(cell) ? cell.join(" ") : String(cell));
}

type CellMember<Item> = { [Name in keyof Item]: Item[Name] extends Cell ? Name : never }[keyof Item];

/** Items in aligned columns. @param columns by heading: a member of an item, or what is made of the item */
export function table<Item>(items: readonly Item[], columns: Readonly<Record<string, CellMember<Item> | ((item: Item) => Cell)>>): string {
  const headings = Object.keys(columns);
  const cellsOf = (item: Item) =>
    Object.values(columns).map((column) => cellText(typeof column === "function" ? column(item) : (item[column] as Cell)));
  const lines = [headings, ...items.map(cellsOf)];
  const widths = headings.map((_, column) => lines.reduce((widest, line) => Math.max(widest, (line[column] ?? "").length), 0));
  return lines
    .map((line) =>
      line
        .map((text, column) => (column === headings.length - 1 ? text : text.padEnd(widths[column] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export const record = (members: Readonly<Record<string, Cell>>): string => {
  const longest = Math.max(...Object.keys(members).map((name) => name.length));
  return Object.entries(members)
    .map(([name, cell]) => `${name.padEnd(longest)}  ${cellText(cell)}`)
    .join("\n");
};

/** Milliseconds since the epoch as date and time, in UTC. */
export const when = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : new Date(milliseconds).toISOString().replace(".000Z", "Z");

/** The column of such a member. */
export const whenOf =
  <Name extends string>(member: Name) =>
  (item: Readonly<Record<Name, number | null>>): Cell =>
    when(item[member]);

/** Control characters and changes of direction in JSON as escapes, which read as the same text. */
const escaped = (json: string): string =>
  json.replace(UNSAFE, (character) => (character === "\n" ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`));

/** Any value as JSON. Control characters and changes of direction are escaped. */
export const asJson = (value: unknown): string => escaped(JSON.stringify(value, null, 2) ?? "null");

/** A record as JSON in one line, escaped in the same way. */
export const asJsonLine = (record: object): string => escaped(JSON.stringify(record));
