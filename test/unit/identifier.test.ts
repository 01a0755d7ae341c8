import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { newId } from "../../src/random.ts";

const millisecondsOf = (id: string): number => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);

test("identifiers are UUIDv7 of the current millisecond, distinct and in order of creation", () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, () => newId(systemClock, randomBytes));
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
  expect(millisecondsOf(ids[0] ?? "")).toBeGreaterThanOrEqual(before);
});

test("identifiers stay in order when the clock stands still or is set back", () => {
  const times = [1_800_000_000, 1_800_000_000, 1_799_999_000, 1_799_999_000, 1_800_000_001];
  let at = 0;
  const clock = () => times[Math.min(at++, times.length - 1)] ?? 0;
  const ids = times.map(() => newId(clock, randomBytes));
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.map(millisecondsOf)).toEqual([0, 0, 0, 0, 1_000].map((more) => 1_800_000_000_000 + more));
});

test("a millisecond with an exhausted counter uses the next millisecond", () => {
  const clock = () => 1_800_000_000;
  const ids = Array.from({ length: 10_000 }, () => newId(clock, randomBytes));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});
