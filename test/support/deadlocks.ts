import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, vi } from "vitest";
import { isRefusal } from "../../src/errors.ts";
import type { Database } from "../../src/store/orm.ts";
import type { DatabaseKind } from "./database.ts";

/**
 * SQLSTATEs of a deadlock, which PostgreSQL detects in a test's database before a lock times out (emptyPostgresDatabase), and of a lock
 * timeout, which can occur on a slow machine without a deadlock.
 */
const [DEADLOCK, LOCK_TIMEOUT] = ["40P01", "55P03"];

/** Collects the deadlocks that PostgreSQL reports on any connection, also those that the caller retries. */
function recordDeadlocks(): { readonly deadlocks: string[]; restore(): void } {
  const deadlocks: string[] = [];
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const answer = query.apply(this, given);
    if (answer instanceof Promise)
      answer.catch(({ code, where }: { code?: string; where?: string }) => {
        if (code === DEADLOCK) deadlocks.push(`${code} ${(given[0] as { name?: string }).name} ${where}`);
      });
    return answer as never;
  });
  return { deadlocks, restore: () => spy.mockRestore() };
}

/** Awaits all work. @returns its errors, except refusals of invalid requests and lock timeouts */
export async function faultsOf(work: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const settled = await Promise.allSettled(work);
  const errors = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const isSlow = (error: unknown) =>
    isRefusal(error) && (error.detail.cause as { readonly code?: string } | undefined)?.code === LOCK_TIMEOUT;
  return errors.filter((error) => !isSlow(error) && (!isRefusal(error) || error.code === "temporarily_unavailable")).map(String);
}

/** A fresh database for the tests of a describe block that run statements concurrently. */
export function racing(fresh: DatabaseKind["fresh"]) {
  let database: Database;
  let locks: ReturnType<typeof recordDeadlocks>;
  beforeAll(async () => {
    locks = recordDeadlocks();
    database = await fresh();
  });
  beforeEach(() => {
    locks.deadlocks.length = 0;
  });
  afterAll(async () => {
    await database.close();
    locks.restore();
  });
  return {
    /** Available from the first hook on. */
    database: () => database,
    /** Awaits all work, and asserts that nothing failed but invalid requests and that no deadlock occurred. */
    async allAtOnce(work: readonly Promise<unknown>[]): Promise<void> {
      expect(await faultsOf(work)).toEqual([]);
      expect(locks.deadlocks).toEqual([]);
    },
  };
}

/**
 * The round numbers of a race. The embedded database runs statements and transactions one after another on its one connection, so one
 * round shows as much as many.
 */
export const roundsOn =
  (name: DatabaseKind["name"]) =>
  (count: number): readonly number[] =>
    Array.from({ length: name === "embedded" ? 1 : count }, (_, round) => round);

/** The same items in another order, which depends on the seed only. */
export function shuffled<Thing>(things: readonly Thing[], seed: number): readonly Thing[] {
  const keyed = things.map((thing, at) => ({ thing, key: Math.imul(at + 1, 2_654_435_761) ^ Math.imul(seed + 1, 40_503 * (at + 7)) }));
  return keyed.toSorted((one, other) => one.key - other.key).map(({ thing }) => thing);
}
