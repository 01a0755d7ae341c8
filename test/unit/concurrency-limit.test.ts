import { expect, test } from "vitest";
import { concurrencyLimit } from "../../src/concurrency-limit.ts";

const limitOf = (limit: number, queue: number) => concurrencyLimit({ limit, queue, full: () => new Error("the queue is full") });
const pending = () => {
  let end: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { promise, end };
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("runs at most the limit at once, and starts the next task when one ends", async () => {
  const { run } = limitOf(2, 10);
  const tasks = [pending(), pending(), pending()];
  const begun: number[] = [];
  const all = tasks.map((task, index) =>
    run(() => {
      begun.push(index);
      return task.promise;
    }),
  );
  await turn();
  expect(begun).toEqual([0, 1]);
  tasks[1]?.end();
  await turn();
  expect(begun).toEqual([0, 1, 2]);
  for (const task of tasks) task.end();
  await Promise.all(all);
});

test("refuses a task when the queue is full, and frees the slot of a failed task", async () => {
  const { run } = limitOf(1, 1);
  const first = pending();
  const running = run(() => first.promise);
  const waiting = run(async () => Promise.reject(new Error("failed")));
  await expect(run(async () => "late")).rejects.toThrow("the queue is full");
  first.end();
  await running;
  await expect(waiting).rejects.toThrow("failed");
  expect(await run(async () => "next")).toBe("next");
});

test("counts queued tasks", async () => {
  const limit = limitOf(1, 5);
  const first = pending();
  const all = [limit.run(() => first.promise), limit.run(async () => undefined)];
  expect(limit.waiting).toBe(1);
  first.end();
  await Promise.all(all);
  expect(limit.waiting).toBe(0);
});
