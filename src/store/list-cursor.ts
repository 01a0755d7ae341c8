import { Refusal } from "../errors.ts";
import type { Order } from "../paging.ts";
import { isUuid } from "../random.ts";
import { isStorable } from "./sql.ts";

/** By what a list is sorted: SQL that is never null and has an index together with `id`; null: by `id` alone, which is by age. */
export interface SortKey {
  readonly by: string | null;
  readonly type?: "text" | "timestamptz";
  readonly order: Order;
}

/** The sort of a page by its name, with the order that was asked for. */
export type NamedSort = SortKey & { readonly name: string };

/** The last row of a page. */
export type Position = { readonly id: string; readonly value: string | null };

/** The cursor behind a row. A list by age needs the id alone. */
export const cursorAt = ({ id, value }: Position, { by, name, order }: NamedSort): string =>
  by === null ? id : Buffer.from(JSON.stringify([name, order, value, id])).toString("base64url");

const unusable = (cause?: unknown): Refusal =>
  new Refusal("invalid_request", "cursor_unusable", {
    description: "This cursor belongs to another list or order. Ask for the first page.",
    cause,
  });

/** @throws {Refusal} invalid_request for a cursor that this list with this sort and order has not given */
export function positionOf(cursor: string, sort: NamedSort): Position {
  if (sort.by === null) {
    if (isUuid(cursor)) return { id: cursor, value: null };
    throw unusable();
  }
  const [name, order, value, id] = partsOf(cursor);
  if (name !== sort.name || order !== sort.order || typeof id !== "string" || !isUuid(id)) throw unusable();
  if (typeof value !== "string" || !isValue(value, sort)) throw unusable();
  return { id, value };
}

function partsOf(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(parts) ? parts : [];
  } catch (cause) {
    throw unusable(cause);
  }
}

/** As PostgreSQL prints a time in JSON. */
const TIME = /^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?[+-](?:0\d|1[0-4]):\d\d$/;

/** Whether PostgreSQL reads it as a time; a query that it refuses is a fault. */
const isTime = (value: string): boolean => TIME.test(value) && !Number.isNaN(Date.parse(value)) && isDay(value.slice(0, 10));

/** A day beyond the end of its month reads as one of the next. */
const isDay = (text: string): boolean => new Date(text).toISOString().startsWith(text);

const isValue = (value: string, { type }: SortKey): boolean =>
  type === "timestamptz" ? value === "-infinity" || isTime(value) : isStorable(value);
