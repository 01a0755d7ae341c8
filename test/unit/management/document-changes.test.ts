import { expect, test } from "vitest";
import { documentChanges, documentsView } from "../../../src/management/operator/clients.ts";

test.for([
  ["the same", { a: 1 }, { a: 1 }, []],
  ["another value", { a: [1, 2] }, { a: [2, 1] }, [{ member: "a", before: [1, 2], after: [2, 1] }]],
  [
    "a new and a dropped member",
    { b: 1 },
    { a: null },
    [
      { member: "a", after: null },
      { member: "b", before: 1 },
    ],
  ],
  [
    "members of Object.prototype",
    {},
    JSON.parse('{"__proto__":1,"toString":2}'),
    [
      { member: "__proto__", after: 1 },
      { member: "toString", after: 2 },
    ],
  ],
] as const)("documents differ by %s", ([, before, after, expected]) => {
  expect(documentChanges(JSON.stringify(before), JSON.stringify(after))).toEqual(expected);
});

test("each version has its changes and the time at which the next one took its place", () => {
  const version = (number: number, name: string) => ({
    version: number,
    document: JSON.stringify({ name }),
    digest: "00",
    size: 10,
    createdAt: number,
    seenAt: number + 0.5,
  });
  expect(documentsView([version(2, "b"), version(1, "a")])).toMatchObject([
    { version: 2, from: 2_000, until: null, lastFetchedAt: 2_500, changes: [{ member: "name", before: "a", after: "b" }] },
    { version: 1, from: 1_000, until: 2_000, changes: [] },
  ]);
});
