import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SecretHash } from "../../src/random.ts";
import type { Database } from "../../src/store/orm.ts";
import { signInFailures } from "../../src/store/sign-in-failures.ts";
import { aHash } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const WINDOW = 900;
const TEN = { limit: 10, window: WINDOW };
const TWO = { limit: 2, window: WINDOW };

describe.for(databaseKinds)("limits on failed sign-ins on $name", ({ fresh }) => {
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
  /** How many more attempts a limit of ten admits; they are released. */
  async function remaining(key: SecretHash): Promise<number> {
    const places = admitted(await times(20, () => store().reserve(key, TEN)));
    await times(places, () => store().settle({ pair: undefined, address: key }, "none", WINDOW));
    return places;
  }

  test.for([20, 64])("%i parallel attempts: exactly ten, the limit, are admitted", async (attempts) => {
    const key = aHash();
    const waits = await times(attempts, () => store().reserve(key, TEN));
    expect(admitted(waits)).toBe(10);
    expect(waits.filter((wait) => wait > 0).every((wait) => Number.isInteger(wait) && wait <= WINDOW)).toBe(true);
    expect(await store().reserve(aHash(), TEN)).toBe(0);
  });

  test("a successful sign-in resets the count, and so does the end of the window", async () => {
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

  test("attempts without a verdict do not count against either limit", async () => {
    const attempt = anAttempt();
    for (let n = 0; n < 30; n++) {
      expect([await store().reserve(attempt.address, TEN), await store().reserve(attempt.pair, TEN)]).toEqual([0, 0]);
      await store().settle(attempt, "none", WINDOW);
    }
    expect([await remaining(attempt.pair), await remaining(attempt.address)]).toEqual([10, 10]);
  });

  test("64 concurrent attempts that reserve and release never exceed the limit, and leave no reservation", async () => {
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
    expect(await remaining(attempt.pair)).toBe(10);
  });

  test("wrong passwords count for pair and address; a right one resets the pair and releases its own reservation of the address", async () => {
    const attempt = anAttempt();
    const end = async (verdict: "right" | "wrong") => {
      await store().reserve(attempt.address, TEN);
      await store().reserve(attempt.pair, TEN);
      await store().settle(attempt, verdict, WINDOW);
    };
    for (let n = 0; n < 4; n++) await end("wrong");
    expect([await remaining(attempt.pair), await remaining(attempt.address)]).toEqual([6, 6]);
    await end("right");
    expect([await remaining(attempt.pair), await remaining(attempt.address)]).toEqual([10, 6]);
  });

  test("a refused attempt reserves nothing: ten more are admitted once the ten pending ones are released", async () => {
    const key = aHash();
    await times(64, () => store().reserve(key, TEN));
    expect(await store().reserve(key, TEN)).toBe(1); // a pending attempt may end at any moment
    await times(10, () => store().settle({ pair: key, address: aHash() }, "none", WINDOW));
    expect(await remaining(key)).toBe(10);
  });

  test("an attempt refused for its pair releases the reservation of its address only", async () => {
    const { pair, address } = anAttempt();
    await times(10, () => store().reserve(pair, TEN));
    await store().reserve(address, TEN);
    await store().settle({ pair: undefined, address }, "none", WINDOW);
    expect([await remaining(pair), await remaining(address)]).toEqual([0, 10]);
  });

  test("a reservation that is never released expires with its lease; a failure stays counted", async () => {
    const attempt = anAttempt();
    await store().reserve(attempt.pair, TEN);
    await store().settle(attempt, "wrong", WINDOW);
    await times(20, () => store().reserve(attempt.pair, TEN));
    expect(await remaining(attempt.pair)).toBe(0);
    await run("update sign_in_failures set pending_until = now()");
    expect(await remaining(attempt.pair)).toBe(9);
  });

  test("a wrong password that is reported after the end of its window counts in the next window", async () => {
    const attempt = anAttempt();
    for (let n = 0; n < 3; n++) await store().reserve(attempt.pair, TEN);
    await run("update sign_in_failures set window_ends_at = now()");
    for (let n = 0; n < 3; n++) await store().settle(attempt, "wrong", WINDOW);
    expect(await remaining(attempt.pair)).toBe(7);
  });

  test("32 concurrent attempts on different accounts from one address are all counted, without a deadlock", async () => {
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
