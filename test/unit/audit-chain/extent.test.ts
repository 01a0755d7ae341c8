import { expect, test } from "vitest";
import { type Extent, shortfallOf } from "../../../src/audit-chain/verify.ts";

const whole = { first: 1, last: 12, records: 12, checkpoints: 2, signedTo: 10, anchored: true };
const none = { ...whole, last: 0, records: 0, checkpoints: 0, signedTo: 0 };
const PROVED = {
  "the whole chain": whole,
  "the records from 6 on": { ...whole, first: 6, records: 7 },
  "no record": none,
  "no record after 12": { ...none, first: 13, last: 12, signedTo: 12 },
};

test.for<[keyof typeof PROVED, Extent, ReturnType<typeof shortfallOf>]>([
  ["the whole chain", {}, undefined],
  ["the whole chain", { after: 0, atLeast: 10 }, undefined],
  ["the whole chain", { atLeast: 11 }, "falls_short"],
  ["the whole chain", { after: 5 }, "begins_elsewhere"],
  ["the records from 6 on", {}, "begins_elsewhere"],
  ["the records from 6 on", { after: 4 }, "begins_elsewhere"],
  ["the records from 6 on", { after: 5 }, undefined],
  ["the records from 6 on", { after: 5, atLeast: 11 }, "falls_short"],
  ["no record", {}, "no_records"],
  ["no record", { atLeast: 1 }, "no_records"],
  ["no record", { after: 0 }, undefined],
  ["no record", { after: 0, atLeast: 1 }, "falls_short"],
  ["no record after 12", {}, "begins_elsewhere"],
  ["no record after 12", { after: 12 }, undefined],
])("a proof of %s, required %j: %s", ([proved, extent, expected]) => {
  expect(shortfallOf(PROVED[proved], extent)).toBe(expected);
});
