import { setTimeout } from "node:timers/promises";
import type { RevocationEvent, RevocationEvents } from "../core/revocation-events.ts";
import { isRefusal } from "../errors.ts";

/** Milliseconds between two looks at the marks while somebody watches. */
const LOOK_EVERY = 200;
/** Milliseconds after a look that failed. */
const LOOK_AFTER_FAILURE = 1_000;

/** New events, and the cursor after them. */
export interface RevocationPage {
  readonly marks: readonly RevocationEvent[];
  readonly cursor: string;
}

export interface RevocationFeed {
  /**
   * Calls `listener` with every event from now on, and after every look at the database that found none: silence means that nothing is known.
   * @returns what came before (after `cursor`, or all that matters), and how to stop; its events may be reported again
   */
  watch(
    cursor: string | undefined,
    listener: (page: RevocationPage) => void,
  ): Promise<{ readonly beginning: RevocationPage & { readonly whole: boolean }; stop(): void }>;
}

/**
 * One look at the events serves all watchers of this process, and there is none without watchers. Each look reads from the last cursor, so
 * that late commits are found; events that were reported before are left out.
 */
export function revocationFeed(source: RevocationEvents, failed: (fault: unknown) => void): RevocationFeed {
  const listeners = new Set<(page: RevocationPage) => void>();
  let looking: Promise<string> | undefined;

  async function look(first: string): Promise<void> {
    let cursor = first;
    let reported = new Set<string>();
    while (listeners.size > 0) {
      await setTimeout(LOOK_EVERY, undefined, { ref: false });
      try {
        const page = await source.since(cursor);
        const news = page.marks.filter(({ sequence }) => !reported.has(sequence));
        reported = new Set(page.marks.map(({ sequence }) => sequence));
        cursor = page.cursor;
        for (const listener of listeners) listener({ marks: news, cursor });
      } catch (error) {
        if (!isRefusal(error)) failed(error);
        await setTimeout(LOOK_AFTER_FAILURE, undefined, { ref: false });
      }
    }
  }

  /** Resolves once the looks have begun: a caller that reads the beginning after that misses nothing in between. */
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
