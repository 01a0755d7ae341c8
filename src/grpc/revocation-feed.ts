import { setTimeout } from "node:timers/promises";
import type { RevocationEvent, RevocationEvents } from "../core/revocation-events.ts";
import { isRefusal } from "../errors.ts";

/** Milliseconds between two looks at the marks while somebody watches. */
const LOOK_EVERY = 200;
/** Milliseconds after a look that failed. */
const LOOK_AFTER_FAILURE = 1_000;

/** What is new, and the cursor that stands for having been told it. */
export interface Told {
  readonly marks: readonly RevocationEvent[];
  readonly cursor: string;
}

export interface RevocationFeed {
  /**
   * Tells `listener` of every mark from now on, and of every look at the database that found none: silence means that nothing is known.
   * @returns what came before (after `cursor`, or all that matters), and how to stop; its marks may be told again
   */
  watch(
    cursor: string | undefined,
    listener: (told: Told) => void,
  ): Promise<{ readonly beginning: Told & { readonly whole: boolean }; stop(): void }>;
}

/**
 * One look at the marks serves everybody who watches this process; nobody watching, nobody looks. Each look reads from the last cursor, so
 * that what was committed late is found; what had been told already is left out.
 */
export function revocationFeed(source: RevocationEvents, failed: (fault: unknown) => void): RevocationFeed {
  const listeners = new Set<(told: Told) => void>();
  let looking: Promise<string> | undefined;

  async function look(first: string): Promise<void> {
    let cursor = first;
    let told = new Set<string>();
    while (listeners.size > 0) {
      await setTimeout(LOOK_EVERY, undefined, { ref: false });
      try {
        const page = await source.since(cursor);
        const news = page.marks.filter(({ sequence }) => !told.has(sequence));
        told = new Set(page.marks.map(({ sequence }) => sequence));
        cursor = page.cursor;
        for (const listener of listeners) listener({ marks: news, cursor });
      } catch (error) {
        if (!isRefusal(error)) failed(error);
        await setTimeout(LOOK_AFTER_FAILURE, undefined, { ref: false });
      }
    }
  }

  /** Resolves once the looks have begun: whoever reads the beginning after that misses nothing in between. */
  function begun(): Promise<string> {
    looking ??= source.edge().then(
      (cursor) => {
        void look(cursor).finally(() => {
          looking = undefined;
        });
        return cursor;
      },
      (error: unknown) => {
        looking = undefined;
        throw error;
      },
    );
    return looking;
  }

  return {
    async watch(cursor, listener) {
      listeners.add(listener);
      try {
        await begun();
        return { beginning: await source.since(cursor), stop: () => void listeners.delete(listener) };
      } catch (error) {
        listeners.delete(listener);
        throw error;
      }
    },
  };
}
