import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { asRefusedBy } from "../../../src/store/availability.ts";
import { coalesceReads, coalesceWrites } from "../../../src/store/coalesce.ts";

/** A query that ends when the test says so. */
function gate<Input, Output>(answer: (input: Input) => Output) {
  const calls: { readonly input: Input; readonly finish: () => void; readonly fail: (error: unknown) => void }[] = [];
  const run = (input: Input): Promise<Output> =>
    new Promise((resolve, reject) => {
      calls.push({ input, finish: () => resolve(answer(input)), fail: reject });
    });
  return { calls, run };
}

const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Runs everything that is ready: a batch filled in this turn is sent at the end of the next. */
const turn = async () => {
  await endOfTurn();
  await endOfTurn();
};

describe("coalesced reads", () => {
  const lengths = () => gate((keys: readonly string[]) => new Map(keys.filter((key) => key !== "").map((key) => [key, key.length])));

  test("calls of one turn share a query, and calls during a query share the next one", async () => {
    const { calls, run } = lengths();
    const read = coalesceReads(run, String);
    const first = [read("a"), read("bb"), read("a")];
    await turn();
    const second = [read("ccc"), read("a")];
    await turn();
    expect(calls.map(({ input }) => input)).toEqual([["a", "bb"]]);
    calls[0]?.finish();
    expect(await Promise.all(first)).toEqual([1, 2, 1]);
    await turn();
    expect(calls.map(({ input }) => input)).toEqual([
      ["a", "bb"],
      ["ccc", "a"],
    ]);
    calls[1]?.finish();
    expect(await Promise.all(second)).toEqual([3, 1]);
  });

  test("a call is not answered by a query that began before it", async () => {
    let value = "old";
    const { calls, run } = gate((keys: readonly string[]) => new Map(keys.map((key) => [key, value])));
    const read = coalesceReads(run, String);
    const before = read("key");
    await turn();
    const after = read("key");
    calls[0]?.finish();
    expect(await before).toBe("old");
    value = "new";
    await turn();
    calls[1]?.finish();
    expect(await after).toBe("new");
  });

  test("a key that is not found yields undefined", async () => {
    const read = coalesceReads(async () => new Map<string, number>(), String);
    expect(await read("x")).toBeUndefined();
  });

  test("a failed query fails its own callers only", async () => {
    let fail = true;
    const read = coalesceReads(async (keys: readonly string[]) => {
      if (fail) throw new Error("gone");
      return new Map(keys.map((key) => [key, 1]));
    }, String);
    const outcomes = await Promise.allSettled([read("a"), read("b")]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    fail = false;
    expect(await read("a")).toBe(1);
  });

  test("the batch and the queue are bounded", async () => {
    const { calls, run } = lengths();
    const read = coalesceReads(run, String, { batch: 2, queue: 5 });
    const reads = ["a", "b", "c", "d", "e", "f"].map((key) => read(key).catch((error: unknown) => error));
    await turn();
    expect(calls[0]?.input).toEqual(["a", "b"]);
    calls[0]?.finish();
    await turn();
    expect(calls[1]?.input).toEqual(["c", "d"]);
    calls[1]?.finish();
    await turn();
    calls[2]?.finish();
    const answers = await Promise.all(reads);
    expect(answers.slice(0, 5)).toEqual([1, 1, 1, 1, 1]);
    expect(answers[5]).toMatchObject({ code: "temporarily_unavailable", reason: "storage_queue_full", detail: { retryAfter: 1 } });
  });
});

describe("coalesced writes", () => {
  test("each row gets its own verdict, in order", async () => {
    const batches: number[][] = [];
    const write = coalesceWrites(async (rows: readonly number[]) => {
      batches.push([...rows]);
      return rows.map((row) => row % 2 === 0);
    });
    expect(await Promise.all([1, 2, 3, 4].map(write))).toEqual([false, true, false, true]);
    expect(batches).toEqual([[1, 2, 3, 4]]);
  });

  test("a failed batch is retried in halves, so that only the faulty row fails, and it costs the others few statements", async () => {
    let statements = 0;
    const write = coalesceWrites(async (rows: readonly number[]) => {
      statements += 1;
      if (rows.includes(13)) throw new Error("unlucky");
      return rows.map((row) => row);
    });
    const rows = Array.from({ length: 256 }, (_, row) => row);
    const outcomes = await Promise.allSettled(rows.map(write));
    expect(outcomes.map((one) => (one.status === "fulfilled" ? one.value : 13))).toEqual(rows);
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect(statements).toBe(1 + 2 * 8);
  });

  test("a batch with a lock timeout is retried row by row, so that only the locked row fails, and is waited for once more", async () => {
    const lockTimeout = Object.assign(new Error("lock timeout"), { code: "55P03", severity: "ERROR" });
    let waits = 0;
    const write = coalesceWrites(async (rows: readonly number[]) => {
      if (!rows.includes(2)) return rows.map((row) => row * 10);
      waits += 1;
      throw asRefusedBy(lockTimeout);
    });
    const settled = await Promise.allSettled([1, 2, 3, 4, 5].map(write));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled", "fulfilled"]);
    expect(waits).toBe(2);
  });

  test("a batch is not retried when the database is unreachable, since it may have been committed", async () => {
    const batches: number[][] = [];
    const write = coalesceWrites(async (rows: readonly number[]) => {
      batches.push([...rows]);
      throw new Refusal("temporarily_unavailable", "storage_unavailable");
    });
    const outcomes = await Promise.allSettled([1, 2, 3].map(write));
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  test("a response with another number of verdicts is an error", async () => {
    const write = coalesceWrites(async () => [true, true, true]);
    await expect(write(1)).rejects.toThrow("another number of verdicts");
  });
});
