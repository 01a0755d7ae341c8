import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { newUserCode, parseUserCode, printUserCode } from "../../../src/protocol/user-code.ts";

test.for([
  ["BCDF-GHJK", "BCDFGHJK"],
  ["bcdfghjk", "BCDFGHJK"],
  [" bc df – gh.jk\t", "BCDFGHJK"],
  ["BCDF_GHJK", "BCDFGHJK"],
  ["ABCD-EFGH", undefined],
  ["BCDF-GHJ", undefined],
  ["BCDF-GHJKL", undefined],
  ["BCDF-GHJ1", undefined],
  ["", undefined],
] as const)("reads %s as %s", ([text, code]) => {
  expect(parseUserCode(text)).toBe(code);
});

test("makes codes of 8 letters that are read as themselves", () => {
  const codes = Array.from({ length: 200 }, () => newUserCode(randomBytes));
  expect(new Set(codes).size).toBe(200);
  expect(codes.map((code) => parseUserCode(printUserCode(code)))).toEqual(codes);
});

test("makes every letter equally likely: bytes above 239 are drawn again", () => {
  const draws = [Buffer.from([240, 255, 239, 0, 19, 20, 1, 2]), Buffer.from([3, 4, 5, 6, 7, 8, 9, 10])];
  expect(newUserCode(() => draws.shift() ?? Buffer.alloc(8))).toBe("ZBZBCDFG");
});
