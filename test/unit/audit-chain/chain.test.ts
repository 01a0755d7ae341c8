import fc from "fast-check";
import { expect, test } from "vitest";
import { canonical, GENESIS, link, linkAll, type Sealable } from "../../../src/audit-chain/chain.ts";

test.for<[Sealable, string]>([
  [{ b: 1, a: [true, null, "x"] }, '{"a":[true,null,"x"],"b":1}'],
  [{ "\u20ac": 1, "\r": 2, "1": 3, "\u{1f600}": 4, "\ufb33": 5 }, '{"\\r":2,"1":3,"\u20ac":1,"\u{1f600}":4,"\ufb33":5}'], // RFC 8785 §3.2.3
  [{ a: undefined, b: {} }, '{"b":{}}'],
  ["\u2028\u0007/", '"\u2028\\u0007/"'],
])("%j has one canonical text", ([value, text]) => {
  expect(canonical(value)).toBe(text);
});

test("the canonical text does not depend on the order of members, and parses to the same value", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const record = value as Record<string, Sealable>;
      const backwards = Object.fromEntries(Object.entries(record).reverse());
      expect(canonical(backwards)).toBe(canonical(record));
      expect(JSON.parse(canonical(record))).toEqual(JSON.parse(JSON.stringify(record)));
    }),
  );
});

test("a hash covers the record, its number and all records before it", () => {
  const first = link(GENESIS, { id: "a" });
  expect(first).toEqual({ seq: 1, hash: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) });
  const hashes = [first, link({ ...GENESIS, seq: 1 }, { id: "a" }), link(first, { id: "a" }), link(GENESIS, { id: "b" })].map(
    ({ hash }) => hash,
  );
  expect(new Set(hashes).size).toBe(4);
  expect(linkAll(GENESIS, [{ id: "a" }, { id: "a" }])).toEqual([first, link(first, { id: "a" })]);
});

test("the encoding does not change, so that old logs can still be verified", () => {
  expect(link(GENESIS, { id: "019a0000-0000-7000-8000-000000000001", at: 1_795_000_000_123_456, event: "token.issued" }).hash).toBe(
    "_T4O8-aQYbqQXix-NEFJ6bNJjYaRJdR9rQKwMFY9Kho",
  );
});
