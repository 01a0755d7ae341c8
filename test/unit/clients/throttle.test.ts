import { expect, test } from "vitest";
import { authenticationThrottle } from "../../../src/clients/throttle.ts";
import { aClock } from "../../support/clock.ts";
import { aCounter } from "../../support/throttle.ts";

/** Two processes that share a failure counter. */
function twoProcesses() {
  const clock = aClock();
  const counter = aCounter(clock.now);
  let hits = 0;
  const reported: string[] = [];
  const hit = (key: string) => {
    hits += 1;
    return counter.hit(key);
  };
  const one = () => authenticationThrottle({ hit }, clock.now, (clientId, address) => reported.push(`${clientId} ${address}`));
  const refusal = (of: ReturnType<typeof one>, address = "a") => {
    try {
      of.assertOpen("c", address);
      return undefined;
    } catch (error) {
      return error;
    }
  };
  return { clock, reported, first: one(), second: one(), refusal, hits: () => hits };
}

test("failures are counted across processes, and the last one blocks that client at that address only", async () => {
  const { first, second, refusal, reported } = twoProcesses();
  for (let n = 0; n < 50; n += 1) await first.failed("c", "a");
  for (let n = 0; n < 49; n += 1) await second.failed("c", "a");
  expect([refusal(first), refusal(second)]).toEqual([undefined, undefined]);
  await second.failed("c", "a");
  expect(refusal(second)).toMatchObject({ code: "too_many_requests", detail: { retryAfter: 60 } });
  expect(refusal(second, "b")).toBeUndefined();
  expect(refusal(first)).toBeUndefined(); // learns of the limit at its next failure
  await first.failed("c", "a");
  expect(refusal(first)).toMatchObject({ code: "too_many_requests" });
  expect(reported).toEqual(["c a", "c a"]);
});

test("docs/protocol.md#limits: the addresses of an IPv6 /64 are counted together", async () => {
  const { first, refusal } = twoProcesses();
  for (let n = 0; n < 100; n += 1) await first.failed("c", `2001:db8:0:1::${n.toString(16)}`);
  expect(refusal(first, "2001:db8:0:1:ffff::1")).toMatchObject({ code: "too_many_requests" });
  expect(refusal(first, "2001:db8:0:2::1")).toBeUndefined();
});

test("only failures are counted at the store, not other calls", async () => {
  const { first, refusal, hits } = twoProcesses();
  for (let n = 0; n < 1_000; n += 1) refusal(first);
  expect(hits()).toBe(0);
  await Promise.all(Array.from({ length: 120 }, () => first.failed("c", "a")));
  for (let n = 0; n < 1_000; n += 1) refusal(first);
  expect(hits()).toBe(120);
});

test("the limit ends with its window, and is reported again in the next one", async () => {
  const { clock, first, refusal, reported } = twoProcesses();
  const fail = () => Promise.all(Array.from({ length: 110 }, () => first.failed("c", "a")));
  await fail();
  clock.pass(61);
  expect(refusal(first)).toBeUndefined();
  await fail();
  expect(refusal(first)).toBeDefined();
  expect(reported).toEqual(["c a", "c a"]);
});

test("a clock that was set back does not make the limit longer: the counter of failures alone says when its window ends", async () => {
  let now = 1_000_000;
  const reported: string[] = [];
  const throttle = authenticationThrottle(
    { hit: async () => 60 },
    () => now,
    (clientId) => reported.push(clientId),
  );
  await throttle.failed("c", "a");
  expect(() => throttle.assertOpen("c", "a")).toThrow();
  now -= 600;
  expect(() => throttle.assertOpen("c", "a")).not.toThrow();
  await throttle.failed("c", "a");
  expect(() => throttle.assertOpen("c", "a")).toThrow();
  expect(reported).toEqual(["c", "c"]);
});
