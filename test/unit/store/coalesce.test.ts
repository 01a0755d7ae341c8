import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { asUnavailable } from "../../../src/store/availability.ts";
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

/** Lets everything that is ready run: what this turn has made ready leaves at the end of the next. */
const turn = async () => {
  await endOfTurn();
  await endOfTurn();
};

describe("coalesced reads", () => {
  const lengths = () => gate((keys: readonly string[]) => new Map(keys.filter((key) => key !== "").map((key) => [key, key.length])));

  test("calls of one turn share a query; what comes while it is under way goes together in the next", async () => {
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

  test("a call is never answered by a query that began before it", async () => {
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

  test("what the query does not find is undefined", async () => {
    const read = coalesceReads(async () => new Map<string, number>(), String);
    expect(await read("x")).toBeUndefined();
  });

  test("a failed query fails its callers and not those after them", async () => {
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

  test("a batch has its bound, and so has the queue", async () => {
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

  test("a failed batch is tried row by row, so that no one fails for a neighbour", async () => {
    const write = coalesceWrites(async (rows: readonly number[]) => {
      if (rows.includes(13)) throw new Error("unlucky");
      return rows.map((row) => row);
    });
    const outcomes = await Promise.allSettled([1, 13, 2].map(write));
    expect(outcomes.map((one) => (one.status === "fulfilled" ? one.value : "failed"))).toEqual([1, "failed", 2]);
  });

  test("a batch that waited in vain for a lock is tried row by row too: only who needs the lock fails", async () => {
    const inVain = Object.assign(new Error("lock timeout"), { code: "55P03", severity: "ERROR" });
    const write = coalesceWrites(async (rows: readonly number[]) => {
      if (rows.includes(2)) throw asUnavailable(inVain);
      return rows.map((row) => row * 10);
    });
    const settled = await Promise.allSettled([write(1), write(2), write(3)]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  test("when the database is out of reach nothing is repeated, for it may have happened", async () => {
    const batches: number[][] = [];
    const write = coalesceWrites(async (rows: readonly number[]) => {
      batches.push([...rows]);
      throw new Refusal("temporarily_unavailable", "storage_unavailable");
    });
    const outcomes = await Promise.allSettled([1, 2, 3].map(write));
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  test("an answer with another number of verdicts is a fault, not a guess", async () => {
    const write = coalesceWrites(async () => [true, true, true]);
    await expect(write(1)).rejects.toThrow("another number of verdicts");
  });
});
