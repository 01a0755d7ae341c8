import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SecretHash } from "../../src/random.ts";
import type { Database } from "../../src/store/orm.ts";
import { signInFailures } from "../../src/store/sign-in-failures.ts";
import { aHash } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const WINDOW = 900;
const TEN = { limit: 10, window: WINDOW };
const TWO = { limit: 2, window: WINDOW };

describe.for(databaseKinds)("budgets of failed sign-ins on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const run = (text: string) => runText(database.sql, text);
  const store = () => signInFailures(database.sql);
  const anAttempt = () => ({ pair: aHash(), address: aHash() });
  const times = <T>(count: number, one: () => Promise<T>) => Promise.all(Array.from({ length: count }, one));
  const admitted = (waits: readonly number[]) => waits.filter((wait) => wait === 0).length;
  /** Attempts that a budget of ten still admits; they are given back. */
  async function room(key: SecretHash): Promise<number> {
    const places = admitted(await times(20, () => store().reserve(key, TEN)));
    await times(places, () => store().settle({ pair: undefined, address: key }, "none", WINDOW));
    return places;
  }

  test.for([20, 64])("of %i parallel attempts exactly the limit goes on", async (attempts) => {
    const key = aHash();
    const waits = await times(attempts, () => store().reserve(key, TEN));
    expect(admitted(waits)).toBe(10);
    expect(waits.filter((wait) => wait > 0).every((wait) => Number.isInteger(wait) && wait <= WINDOW)).toBe(true);
    expect(await store().reserve(aHash(), TEN)).toBe(0);
  });

  test("a success forgets what was before it, and so does the end of the window", async () => {
    const attempt = anAttempt();
    const fail = async () => {
      await store().reserve(attempt.pair, TWO);
      await store().settle(attempt, "wrong", WINDOW);
    };
    for (let n = 0; n < 2; n++) await fail();
    expect(await store().reserve(attempt.pair, TWO)).toBeGreaterThan(1);
    await store().clear(attempt.pair);
    expect(await store().reserve(attempt.pair, TWO)).toBe(0);
    await store().settle(attempt, "right", WINDOW);
    for (let n = 0; n < 2; n++) await fail();
    await run("update sign_in_failures set window_ends_at = now()");
    expect(await store().reserve(attempt.pair, TWO)).toBe(0);
  });

  test("attempts without a verdict leave both budgets as they were, however many there are", async () => {
    const attempt = anAttempt();
    for (let n = 0; n < 30; n++) {
      expect([await store().reserve(attempt.address, TEN), await store().reserve(attempt.pair, TEN)]).toEqual([0, 0]);
      await store().settle(attempt, "none", WINDOW);
    }
    expect([await room(attempt.pair), await room(attempt.address)]).toEqual([10, 10]);
  });

  test("64 at once that reserve and give back never hold more than the limit, and leave nothing behind", async () => {
    const attempt = anAttempt();
    let [held, most] = [0, 0];
    await times(64, async () => {
      if ((await store().reserve(attempt.pair, TEN)) > 0) return;
      held += 1;
      most = Math.max(most, held);
      await new Promise((resolve) => setImmediate(resolve));
      held -= 1;
      await store().settle({ pair: attempt.pair, address: attempt.address }, "none", WINDOW);
    });
    expect(most).toBeLessThanOrEqual(10);
    expect(await room(attempt.pair)).toBe(10);
  });

  test("wrong passwords count in both budgets; a right one clears those of the pair and gives only its own place back to the address", async () => {
    const attempt = anAttempt();
    const end = async (verdict: "right" | "wrong") => {
      await store().reserve(attempt.address, TEN);
      await store().reserve(attempt.pair, TEN);
      await store().settle(attempt, verdict, WINDOW);
    };
    for (let n = 0; n < 4; n++) await end("wrong");
    expect([await room(attempt.pair), await room(attempt.address)]).toEqual([6, 6]);
    await end("right");
    expect([await room(attempt.pair), await room(attempt.address)]).toEqual([10, 6]);
  });

  test("a refusal takes no place: after ten attempts under way are given back, ten more go on", async () => {
    const key = aHash();
    await times(64, () => store().reserve(key, TEN));
    expect(await store().reserve(key, TEN)).toBe(1); // they may end at any moment
    await times(10, () => store().settle({ pair: key, address: aHash() }, "none", WINDOW));
    expect(await room(key)).toBe(10);
  });

  test("a refused pair gives back the place of its address alone", async () => {
    const { pair, address } = anAttempt();
    await times(10, () => store().reserve(pair, TEN));
    await store().reserve(address, TEN);
    await store().settle({ pair: undefined, address }, "none", WINDOW);
    expect([await room(pair), await room(address)]).toEqual([0, 10]);
  });

  test("a place that is never given back is free again after its lease; a failure stays", async () => {
    const attempt = anAttempt();
    await store().reserve(attempt.pair, TEN);
    await store().settle(attempt, "wrong", WINDOW);
    await times(20, () => store().reserve(attempt.pair, TEN));
    expect(await room(attempt.pair)).toBe(0);
    await run("update sign_in_failures set pending_until = now()");
    expect(await room(attempt.pair)).toBe(9);
  });

  test("a wrong password that comes after the end of its window counts in the next one", async () => {
    const attempt = anAttempt();
    for (let n = 0; n < 3; n++) await store().reserve(attempt.pair, TEN);
    await run("update sign_in_failures set window_ends_at = now()");
    for (let n = 0; n < 3; n++) await store().settle(attempt, "wrong", WINDOW);
    expect(await room(attempt.pair)).toBe(7);
  });

  test("attempts of many accounts and one address wait for each other in one order", async () => {
    const address = aHash();
    const outcomes = await times(32, async () => {
      const attempt = { pair: aHash(), address };
      if ((await store().reserve(address, { limit: 100, window: WINDOW })) > 0) return "refused";
      await store().reserve(attempt.pair, TEN);
      await store().settle(attempt, "wrong", WINDOW);
      return "counted";
    });
    expect(outcomes.every((outcome) => outcome === "counted")).toBe(true);
    expect(await store().reserve(address, { limit: 32, window: WINDOW })).toBeGreaterThan(1);
    expect(await store().reserve(address, { limit: 33, window: WINDOW })).toBe(0);
  });
});
