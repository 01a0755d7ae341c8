import { expect, test } from "vitest";
import { table } from "../../../src/cli/table.ts";

test.for([
  ["East Asian characters", "日本語", 6],
  ["half-width and full-width forms", "ｱＡ", 3],
  ["Hangul", "한국", 4],
  ["an emoji", "🔑", 2],
  ["an emoji of several characters", "👩‍💻", 2],
  ["a flag", "🇩🇪", 2],
  ["a character that is made an emoji", "❤️", 2],
  ["a combining accent", "e\u0301", 1],
] as const)("a table counts the columns of %s", ([, name, columns]) => {
  const [, first, second] = table(
    [
      { name, role: "user" },
      { name: "longest name", role: "user" },
    ],
    { NAME: "name", ROLE: "role" },
  ).split("\n");
  expect(first).toBe(`${name}${" ".repeat("longest name".length - columns)}  user`);
  expect(second).toBe("longest name  user");
});
