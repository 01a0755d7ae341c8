import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Refusal } from "../../../src/errors.ts";
import { mayBeRepeated, timeLimit, timeToAnswer, withinBudget } from "../../../src/grpc/deadline.ts";

test.for([
  [3_000, undefined, 3_000],
  [3_000, Number.POSITIVE_INFINITY, 3_000],
  [3_000, 10_000, 3_000],
  [3_000, 1_000, 980], // one hop takes 20 ms
  [1_000, 70, 50],
] as const)("a limit of %d ms and a caller's deadline in %s ms leave %d ms", ([limit, waits, expected]) => {
  expect(timeToAnswer(limit, waits)).toBe(expected);
});

test.for([69.9, 0, -5])("a call with a deadline in %d ms is refused", (waits) => {
  expect(() => timeToAnswer(1_000, waits)).toThrow(
    expect.objectContaining({ code: "temporarily_unavailable", reason: "deadline_too_near" }),
  );
});

test("the time limit is 1 s for introspection and 3 s for other methods", () => {
  expect([timeLimit("introspect"), timeLimit("token"), timeLimit("publicKeys")]).toEqual([1_000, 3_000, 3_000]);
  expect([timeLimit("validateAuthorization"), timeLimit("issueCode"), timeLimit("resolveClient")]).toEqual([3_000, 3_000, 3_000]);
});

test.for([
  ["introspect", {}, true],
  ["introspect", { client: { assertion: {} } }, false],
  ["revoke", { client: {} }, true],
  ["pushAuthorization", { client: { dpop: {} } }, false],
  ["verifyAccessToken", { dpop: {} }, false],
  ["token", {}, false],
] as const)("%s of %o, once it may have been executed, may be repeated: %s", ([method, request, expected]) => {
  expect(mayBeRepeated(method, request)).toBe(expected);
});

const never = () => undefined;

test("work within its budget returns its result or its own error", async () => {
  expect(await withinBudget(100, never, async () => "done")).toBe("done");
  await expect(withinBudget(100, never, async () => Promise.reject(new RangeError("x")))).rejects.toThrow(RangeError);
});

test.for(["deadline_passed", "caller_gone"] as const)("work is aborted with the reason %s", async (reason) => {
  let abortReason: unknown;
  const given = withinBudget(
    reason === "caller_gone" ? 10_000 : 30,
    (leave) => reason === "caller_gone" && setTimeout(leave, 30),
    async (signal) => sleep(5_000, undefined, { signal }).catch(() => (abortReason = signal.reason)),
  );
  await expect(given).rejects.toMatchObject({ code: "temporarily_unavailable", reason });
  await sleep(1);
  expect((abortReason as Refusal).reason).toBe(reason);
});

test("a caller who leaves after the response aborts nothing", async () => {
  let leave = never as () => void;
  let seen: AbortSignal | undefined;
  await withinBudget(
    100,
    (go) => (leave = go),
    async (signal) => (seen = signal),
  );
  leave();
  expect(seen?.aborted).toBe(false);
});
