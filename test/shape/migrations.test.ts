import { expect, test } from "vitest";
import { MIGRATIONS } from "../../src/store/migrate.ts";

/** Released before numbers had to be unique. */
const SHARED = ["0015", "0018"];

test("each migration has a number of its own, without gaps", () => {
  const numbers = MIGRATIONS.map((name) => /^(\d{4})_[a-z_]+$/.exec(name)?.[1] ?? name);
  const taken = numbers.filter((number, index) => numbers.indexOf(number) !== index && !SHARED.includes(number));
  expect(taken).toEqual([]);
  const distinct = [...new Set(numbers)];
  expect(distinct).toEqual(distinct.map((_, index) => String(index + 1).padStart(4, "0")));
});
