import { expect, test } from "vitest";
import { concurrencyLimit } from "../../../src/concurrency-limit.ts";

const never = new AbortController().signal;
const pending = () => {
  let end: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { promise, end };
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("runs at most the limit at once and starts the next when one ends", async () => {
  const run = concurrencyLimit(2, 10);
  const tasks = [pending(), pending(), pending()];
  const begun: number[] = [];
  const all = tasks.map((task, index) =>
    run(() => {
      begun.push(index);
      return task.promise;
    }, never),
  );
  await turn();
  expect(begun).toEqual([0, 1]);
  tasks[1]?.end();
  await turn();
  expect(begun).toEqual([0, 1, 2]);
  for (const task of tasks) task.end();
  await Promise.all(all);
});

test("who finds the queue full is refused, and a failure frees its place", async () => {
  const run = concurrencyLimit(1, 1);
  const first = pending();
  const running = run(() => first.promise, never);
  const waiting = run(async () => Promise.reject(new Error("failed")), never);
  await expect(run(async () => "late", never)).rejects.toThrow("too many");
  first.end();
  await running;
  await expect(waiting).rejects.toThrow("failed");
  expect(await run(async () => "next", never)).toBe("next");
});

test("who gives up while waiting is never begun; who gives up while running keeps his place until the work has ended", async () => {
  const run = concurrencyLimit(1, 5);
  const [first, stop, stopWaiting] = [pending(), new AbortController(), new AbortController()];
  let begun = false;
  const running = run(() => first.promise, stop.signal);
  const waiting = run(async () => {
    begun = true;
  }, stopWaiting.signal);
  stopWaiting.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  stop.abort(new Error("gone too"));
  await expect(running).rejects.toThrow("gone too");
  const next = run(async () => "next", never);
  await turn();
  expect(begun).toBe(false);
  first.end();
  expect(await next).toBe("next");
  await expect(run(async () => "x", AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
});
