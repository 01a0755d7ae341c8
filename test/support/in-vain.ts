import pg from "pg";
import { vi } from "vitest";
import { isRefusal } from "../../src/errors.ts";

/** The SQLSTATEs with which PostgreSQL tells of locks that were waited for in vain. */
const WAITED_IN_VAIN = ["40P01", "55P03"];

/** Collects what PostgreSQL says of locks that were waited for in vain, on whatever connection, also where the caller is not told. */
export function locksInVain(): { readonly inVain: string[]; restore(): void } {
  const inVain: string[] = [];
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const answer = query.apply(this, given);
    if (answer instanceof Promise)
      answer.catch(({ code, where }: { code?: string; where?: string }) => {
        if (WAITED_IN_VAIN.includes(code ?? "")) inVain.push(`${code} ${(given[0] as { name?: string }).name} ${where}`);
      });
    return answer as never;
  });
  return { inVain, restore: () => spy.mockRestore() };
}

/** Does all of it at once. @returns what went wrong otherwise than by a refusal that says what is wrong with the request */
export async function faultsOf(work: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const settled = await Promise.allSettled(work);
  const errors = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  return errors.filter((error) => !isRefusal(error) || error.code === "temporarily_unavailable").map(String);
}

/** The same things in another order, the same for the same seed. */
export function shuffled<Thing>(things: readonly Thing[], seed: number): readonly Thing[] {
  const keyed = things.map((thing, at) => ({ thing, key: Math.imul(at + 1, 2_654_435_761) ^ Math.imul(seed + 1, 40_503 * (at + 7)) }));
  return keyed.toSorted((one, other) => one.key - other.key).map(({ thing }) => thing);
}
