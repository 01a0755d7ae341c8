import { expect, test } from "vitest";
import { loadOnce } from "../../src/load-once.ts";

test("loads once for all calls, including concurrent ones", async () => {
  let loads = 0;
  const get = loadOnce(async () => ++loads);
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  expect([await get(), loads]).toEqual([1, 1]);
});

test("loads again after a failure", async () => {
  const outcomes = [new Error("no file descriptor left"), "loaded"];
  const get = loadOnce(async () => {
    const outcome = outcomes.shift();
    if (outcome instanceof Error) throw outcome;
    return outcome;
  });
  await expect(get()).rejects.toThrow("no file descriptor left");
  expect(await get()).toBe("loaded");
});
