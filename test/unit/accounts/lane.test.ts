import { describe, expect, test } from "vitest";
import { lane } from "../../../src/accounts/lane.ts";

/** Jobs that end when they are told to. */
function jobs() {
  const ends: (() => void)[] = [];
  const job = () => new Promise<void>((resolve) => ends.push(resolve));
  return { job, running: () => ends.length, end: (index: number) => ends[index]?.() };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("rule R6: a lane of its own for password hashing", () => {
  test("runs as many as its width, the rest in the order of their coming", async () => {
    const inLane = lane({ width: 2, queue: 32, wait: 1000 });
    const { job, running, end } = jobs();
    const all = [1, 2, 3, 4].map(() => inLane(job));
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

  test("refuses at once what finds the queue full", async () => {
    const inLane = lane({ width: 1, queue: 1, wait: 1000 });
    const { job, end } = jobs();
    const [first, second] = [inLane(job), inLane(job)];
    await expect(inLane(job)).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "lane_full", detail: { retryAfter: 1 } });
    end(0);
    await first;
    await turn();
    end(1);
    await second;
  });

  test("refuses what has waited too long, and gives the place to the next", async () => {
    const inLane = lane({ width: 1, queue: 8, wait: 20 });
    const { job, end } = jobs();
    const first = inLane(job);
    await expect(inLane(job)).rejects.toMatchObject({ reason: "lane_wait" });
    end(0);
    await first;
    expect(await inLane(async () => "free again")).toBe("free again");
  });

  test("a failing job leaves its place", async () => {
    const inLane = lane({ width: 1, queue: 1, wait: 20 });
    await expect(inLane(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await inLane(async () => 1)).toBe(1);
  });
});
