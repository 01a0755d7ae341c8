import type { Page } from "../clients/ports.ts";

/** A page out of rows of which one more than `limit` was asked for: if it is there, more follows. */
export function pageOf<Row extends { readonly id: string }, Item>(
  rows: readonly Row[],
  limit: number,
  item: (row: Row) => Item,
): Page<Item> {
  const kept = rows.slice(0, limit);
  return { items: kept.map(item), next: rows.length > limit ? (kept.at(-1)?.id ?? null) : null };
}

/** What a filter leaves open is null in SQL, and then every row is good. */
export const open = <Value>(value: Value | undefined): Value | null => value ?? null;
