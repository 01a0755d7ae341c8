import { expect, test } from "vitest";
import { memoryRateLimiter } from "../../../src/store/ephemeral/memory.ts";
import { breaker } from "../../../src/store/ephemeral/redis.ts";

test("a rate limit admits the limit, then returns the seconds to wait, and starts again after the window", async () => {
  let now = 100;
  const limiter = memoryRateLimiter({ points: 2, seconds: 60 }, () => now);
  expect([await limiter.hit("a"), await limiter.hit("a"), await limiter.hit("a"), await limiter.hit("b")]).toEqual([0, 0, 60, 0]);
  now = 159.5;
  expect(await limiter.hit("a")).toBe(1);
  now = 160;
  expect(await limiter.hit("a")).toBe(0);
});

test("three consecutive failures open the circuit breaker, which then admits one call a second", () => {
  let now = 0;
  const circuit = breaker(() => now);
  circuit.failed();
  circuit.failed();
  circuit.succeeded();
  for (let n = 0; n < 2; n++) circuit.failed();
  expect(circuit.mayCall()).toBe(true);
  circuit.failed();
  expect(circuit.mayCall()).toBe(false);
  now = 1;
  expect([circuit.mayCall(), circuit.mayCall()]).toEqual([true, false]);
  circuit.failed();
  now = 2;
  expect(circuit.mayCall()).toBe(true);
  circuit.succeeded();
  expect([circuit.mayCall(), circuit.mayCall()]).toEqual([true, true]);
});
