import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, vi } from "vitest";
import { isRefusal } from "../../src/errors.ts";
import type { Database } from "../../src/store/orm.ts";
import type { DatabaseKind } from "./database.ts";

/**
 * The SQLSTATEs with which PostgreSQL reports a deadlock, which it finds in a test's database before anyone gives up waiting (emptyPostgresDatabase),
 * and of a lock that was waited for too long, as on a slow machine may happen without one.
 */
const [RING, TOO_LONG] = ["40P01", "55P03"];

/** Collects what PostgreSQL says of rings, on whatever connection, also where the caller does not see it. */
function locksInVain(): { readonly inVain: string[]; restore(): void } {
  const inVain: string[] = [];
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const answer = query.apply(this, given);
    if (answer instanceof Promise)
      answer.catch(({ code, where }: { code?: string; where?: string }) => {
        if (code === RING) inVain.push(`${code} ${(given[0] as { name?: string }).name} ${where}`);
      });
    return answer as never;
  });
  return { inVain, restore: () => spy.mockRestore() };
}

/** Does all of it at once. @returns what went wrong otherwise than by a refusal that says what is wrong with the request */
export async function faultsOf(work: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const settled = await Promise.allSettled(work);
  const errors = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const isSlow = (error: unknown) => isRefusal(error) && (error.detail.cause as { readonly code?: string } | undefined)?.code === TOO_LONG;
  return errors.filter((error) => !isSlow(error) && (!isRefusal(error) || error.code === "temporarily_unavailable")).map(String);
}

/** A fresh database for the tests of a describe block, in which many do something at once. */
export function racing(fresh: DatabaseKind["fresh"]) {
  let database: Database;
  let locks: ReturnType<typeof locksInVain>;
  beforeAll(async () => {
    locks = locksInVain();
    database = await fresh();
  });
  beforeEach(() => {
    locks.inVain.length = 0;
  });
  afterAll(async () => {
    await database.close();
    locks.restore();
  });
  return {
    /** From the first hook on. */
    database: () => database,
    /** Waits for all of it: no one is refused but for a wrong request, and no deadlock occurred. */
    async allAtOnce(work: readonly Promise<unknown>[]): Promise<void> {
      expect(await faultsOf(work)).toEqual([]);
      expect(locks.inVain).toEqual([]);
    },
  };
}

/**
 * The numbers of the rounds of a race. The embedded database has one connection, on which statements and transactions wait for each other, so
 * that one round shows all that many would.
 */
export const roundsOn =
  (name: DatabaseKind["name"]) =>
  (count: number): readonly number[] =>
    Array.from({ length: name === "embedded" ? 1 : count }, (_, round) => round);

/** The same things in another order, the same for the same seed. */
export function shuffled<Thing>(things: readonly Thing[], seed: number): readonly Thing[] {
  const keyed = things.map((thing, at) => ({ thing, key: Math.imul(at + 1, 2_654_435_761) ^ Math.imul(seed + 1, 40_503 * (at + 7)) }));
  return keyed.toSorted((one, other) => one.key - other.key).map(({ thing }) => thing);
}
