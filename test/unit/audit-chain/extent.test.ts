import { expect, test } from "vitest";
import { type Extent, shortfallOf } from "../../../src/audit-chain/extent.ts";

const proof = { first: 1, last: 12, records: 12, checkpoints: 2, signedTo: 10, anchored: true };
const part = { ...proof, first: 6, records: 7 };
const none = { ...proof, last: 0, records: 0, checkpoints: 0, signedTo: 0 };
const noneAfter = { ...none, first: 13, last: 12, signedTo: 12 };

test.for<[typeof proof, Extent, ReturnType<typeof shortfallOf>]>([
  [proof, {}, undefined],
  [proof, { after: 0, atLeast: 10 }, undefined],
  [proof, { atLeast: 11 }, "falls_short"],
  [proof, { after: 5 }, "begins_elsewhere"],
  [part, {}, "begins_elsewhere"],
  [part, { after: 4 }, "begins_elsewhere"],
  [part, { after: 5 }, undefined],
  [part, { after: 5, atLeast: 11 }, "falls_short"],
  [none, {}, "no_records"],
  [none, { atLeast: 1 }, "no_records"],
  [none, { after: 0 }, undefined],
  [none, { after: 0, atLeast: 1 }, "falls_short"],
  [noneAfter, {}, "begins_elsewhere"],
  [noneAfter, { after: 12 }, undefined],
])("%# %j with %j", ([proved, extent, expected]) => {
  expect(shortfallOf(proved, extent)).toBe(expected);
});
