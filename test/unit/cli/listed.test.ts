import { expect, test } from "vitest";
import { listed } from "../../../src/cli/management-api.ts";

/** A list of so many items as the server returns it: counted on its first page, to `counted`. */
const listOf =
  (length: number, counted = length) =>
  async ({ limit, cursor }: { readonly limit: number; readonly cursor?: string }) => {
    const from = Number(cursor ?? 0);
    const items = Array.from({ length: Math.min(limit, length - from) }, (_, at) => from + at);
    const total = cursor === undefined ? Math.min(length, counted) : null;
    return {
      items,
      nextCursor: from + limit < length ? `${from + limit}` : null,
      total,
      totalIsExact: total !== null && length <= counted,
    };
  };

test.for([
  { name: "all items of several pages", list: listOf(450), most: undefined, count: 450, total: "450" },
  { name: "the first items", list: listOf(450), most: 25, count: 25, total: "450" },
  { name: "the first items of more than one page", list: listOf(450), most: 201, count: 201, total: "450" },
  { name: "the first items of more than the server counts", list: listOf(450, 400), most: 25, count: 25, total: "400+" },
  { name: "all items of more than the server counts", list: listOf(1_450, 400), most: undefined, count: 1_450, total: "1,450" },
  { name: "fewer items than wanted", list: listOf(3), most: 25, count: 3, total: "3" },
  { name: "nothing", list: listOf(0), most: undefined, count: 0, total: "0" },
])("lists $name, with their total", async ({ list, most, count, total }) => {
  const found = await listed("items", list, most);
  expect([found.items, found.total]).toEqual([Array.from({ length: count }, (_, at) => at), total]);
});
