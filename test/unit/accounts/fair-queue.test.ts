import { describe, expect, test } from "vitest";
import { type FairQueue, fairQueue } from "../../../src/accounts/fair-queue.ts";

/** Jobs that end when the test says so. */
function jobs() {
  const ends: (() => void)[] = [];
  const job = () => new Promise<void>((resolve) => ends.push(resolve));
  return { job, running: () => ends.length, end: (index: number) => ends[index]?.() };
}
/** A queue with the same key for all jobs. */
const oneKey = (limits: { width: number; queue: number; wait: number }) => {
  const inTurn = fairQueue({ share: limits.queue, ...limits });
  return <T>(job: () => Promise<T>) => inTurn("a", job);
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a queue with one key", () => {
  test("runs as many jobs as its width, and the others in the order of arrival", async () => {
    const inQueue = oneKey({ width: 2, queue: 32, wait: 1000 });
    const { job, running, end } = jobs();
    const all = [1, 2, 3, 4].map(() => inQueue(job));
    await turn();
    expect(running()).toBe(2);
    end(0);
    await turn();
    expect(running()).toBe(3);
    end(1);
    end(2);
    await turn();
    end(3);
    await Promise.all(all);
  });

  test("refuses a job at once when the queue is full", async () => {
    const inQueue = oneKey({ width: 1, queue: 1, wait: 1000 });
    const { job, end } = jobs();
    const [first, second] = [inQueue(job), inQueue(job)];
    await expect(inQueue(job)).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "queue_full", detail: { retryAfter: 1 } });
    end(0);
    await first;
    await turn();
    end(1);
    await second;
  });

  test("refuses a job that has waited too long, and serves later jobs", async () => {
    const inQueue = oneKey({ width: 1, queue: 8, wait: 20 });
    const { job, end } = jobs();
    const first = inQueue(job);
    await expect(inQueue(job)).rejects.toMatchObject({ reason: "queue_wait" });
    end(0);
    await first;
    expect(await inQueue(async () => "free again")).toBe("free again");
  });

  test("a failed job frees its slot", async () => {
    const inQueue = oneKey({ width: 1, queue: 1, wait: 20 });
    await expect(inQueue(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await inQueue(async () => 1)).toBe(1);
  });
});

describe("a queue with several keys", () => {
  /** Submits jobs with the given keys, which end in the order in which they started. */
  function crowd(inTurn: FairQueue) {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const refused: string[] = [];
    const come = async (key: string, name = key): Promise<void> => {
      const job = () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.push(resolve));
      };
      inTurn(key, job).catch((error) => refused.push(`${name} ${error.reason}`));
      await turn();
    };
    const endOne = async (): Promise<void> => {
      ends.shift()?.();
      await turn();
    };
    return { begun, refused, come, endOne };
  }
  const LONG = 60_000;

  test("serves the keys in turn, however many jobs each has queued", async () => {
    const { begun, come, endOne } = crowd(fairQueue({ width: 1, queue: 32, share: 32, wait: LONG }));
    await come("running");
    for (const name of ["a1", "a2", "a3"]) await come("a", name);
    for (const name of ["b1", "b2"]) await come("b", name);
    await come("c", "c1");
    for (let n = 0; n < 7; n++) await endOne();
    expect(begun).toEqual(["running", "a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  test("a full queue refuses the newest job of the key with the most jobs, and accepts a job of another key", async () => {
    const { begun, refused, come, endOne } = crowd(fairQueue({ width: 1, queue: 4, share: 4, wait: LONG }));
    await come("running");
    for (const name of ["a1", "a2", "a3", "a4"]) await come("a", name);
    await come("b", "b1");
    await come("c", "c1");
    expect(refused).toEqual(["a4 queue_full", "a3 queue_full"]);
    for (let n = 0; n < 5; n++) await endOne();
    expect(begun).toEqual(["running", "a1", "b1", "c1", "a2"]);
  });

  test("a full queue refuses a further job of the key with the most jobs, and any job when all keys have equally many", async () => {
    const { refused, come, endOne } = crowd(fairQueue({ width: 1, queue: 3, share: 3, wait: LONG }));
    await come("running");
    for (const key of ["a", "b", "c"]) await come(key);
    await come("a", "a again");
    await come("d");
    expect(refused).toEqual(["a again queue_full", "d queue_full"]);
    for (let n = 0; n < 4; n++) await endOne();
  });

  test("a key gets at most its share, even of an empty queue", async () => {
    const { refused, come, endOne } = crowd(fairQueue({ width: 1, queue: 8, share: 2, wait: LONG }));
    await come("running");
    for (const name of ["a1", "a2", "a3"]) await come("a", name);
    expect(refused).toEqual(["a3 queue_full"]);
    for (let n = 0; n < 3; n++) await endOne();
  });

  test("the queue is bounded over 100 keys", async () => {
    const { begun, refused, come, endOne } = crowd(fairQueue({ width: 2, queue: 32, share: 16, wait: LONG }));
    for (let n = 0; n < 100; n++) await come(`key ${n}`);
    expect([begun.length, refused.length]).toEqual([2, 66]);
    for (let n = 0; n < 34; n++) await endOne();
    expect(begun).toHaveLength(34);
  });
});
