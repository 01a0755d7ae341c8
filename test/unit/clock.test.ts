import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { pooled } from "../../src/random.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

test("pooled random bytes are those of the source, in order and each returned once", () => {
  let drawn = "";
  const take = pooled((length) => {
    const bytes = randomBytes(length);
    drawn += hex(bytes);
    return bytes;
  });
  const taken = Array.from({ length: 128 }, () => hex(take(32)));
  expect(taken.join("")).toBe(drawn);
  expect(new Set(taken).size).toBe(128);
});

test("returned bytes are erased from the pool, and no result spans two fills of the pool", () => {
  const pools: Uint8Array[] = [];
  const take = pooled((length) => {
    const pool = new Uint8Array(length).fill(pools.length + 1);
    pools.push(pool);
    return pool;
  });
  const first = take(16);
  expect([...first]).toEqual(Array(16).fill(1));
  expect([...(pools[0]?.subarray(0, 17) ?? [])]).toEqual([...Array(16).fill(0), 1]);
  for (let n = 0; n < 300; n++) expect(new Set(take(15)).size).toBe(1);
  expect(pools.length).toBeGreaterThan(1);
  expect([...first]).toEqual(Array(16).fill(1));
});

test("requests larger than the pool are read from the source directly", () => {
  const asked: number[] = [];
  const take = pooled((length) => {
    asked.push(length);
    return randomBytes(length);
  });
  expect(take(1000).length).toBe(1000);
  expect(asked).toEqual([1000]);
});
