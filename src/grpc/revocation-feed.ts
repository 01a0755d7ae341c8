import { setTimeout as sleep } from "node:timers/promises";
import type { RevocationEvent, RevocationEvents } from "../core/revocation.ts";
import { isRefusal } from "../errors.ts";

/** Milliseconds between two queries while there are watchers. */
const LOOK_EVERY = 200;
/** Milliseconds after a failed query. */
const LOOK_AFTER_FAILURE = 1_000;

/** New events, and the cursor after them. */
export type RevocationPage = { readonly marks: readonly RevocationEvent[]; readonly cursor: string };

export type RevocationFeed = ReturnType<typeof revocationFeed>;

/**
 * One query serves all watchers of this process; without watchers there is none. Each query reads from the previous cursor, so that late
 * commits are found; events reported before are left out.
 */
export function revocationFeed(source: RevocationEvents, failed: (fault: unknown) => void) {
  const listeners = new Set<(page: RevocationPage) => void>();
  let looking: Promise<void> | undefined;
  const beginningFrom = sharedBeginnings(source);

  async function look({ cursor: first, marks }: RevocationPage): Promise<void> {
    let cursor = first;
    let reported = new Set(marks.map(({ sequence }) => sequence));
    while (listeners.size > 0) {
      await sleep(LOOK_EVERY, undefined, { ref: false });
      try {
        const page = await source.since(cursor);
        const news = page.marks.filter(({ sequence }) => !reported.has(sequence));
        reported = new Set(page.marks.map(({ sequence }) => sequence));
        cursor = page.cursor;
        for (const listener of listeners) listener({ marks: news, cursor });
      } catch (error) {
        if (!isRefusal(error)) failed(error);
        await sleep(LOOK_AFTER_FAILURE, undefined, { ref: false });
      }
    }
    looking = undefined; // at once, so that a later watcher starts queries again
  }

  /** Events that are visible already are no news: an open transaction may hold the cursor back, and return them for hours. */
  async function start(): Promise<void> {
    void look(await source.since(await source.edge()));
  }

  /** Resolves once queries have begun: a caller that reads the earlier events after that misses none. */
  function begun(): Promise<void> {
    looking ??= start().catch((error: unknown) => {
      looking = undefined;
      throw error;
    });
    return looking;
  }

  return {
    /**
     * Calls `listener` with every event from now on, and with none after each query that found none: silence means that the state is unknown.
     * @returns the earlier events (after `cursor`, or all that matter), some of which may be reported again, and how to stop
     */
    async watch(cursor: string | undefined, listener: (page: RevocationPage) => void) {
      listeners.add(listener);
      try {
        await begun();
        return { beginning: await beginningFrom(cursor), stop: (): void => void listeners.delete(listener) };
      } catch (error) {
        listeners.delete(listener);
        throw error;
      }
    },
  };
}

/** The pause between two readings, in the time that the first took, and the most of it in milliseconds. */
const REST = 3;
const LONGEST_REST = 1_000;
/** In place of a cursor. */
const ALL = -1n;

/**
 * Reads the events with which streams begin. They can be hundreds of thousands, and anybody with a client may ask for them again and again:
 * streams that begin during a reading, or the pause after it, share the next one, which may return earlier events than they asked for.
 */
function sharedBeginnings({ since }: Pick<RevocationEvents, "since">) {
  type Page = Awaited<ReturnType<RevocationEvents["since"]>>;
  let free = Promise.resolve();
  let next: { readonly from: bigint[]; readonly page: Promise<Page> } | undefined;

  async function read(from: readonly bigint[]): Promise<Page> {
    await free;
    next = undefined;
    const began = performance.now();
    const earliest = from.reduce((one, other) => (one < other ? one : other));
    const page = since(earliest === ALL ? undefined : String(earliest));
    const rest = () => sleep(Math.min(LONGEST_REST, (performance.now() - began) * REST), undefined, { ref: false });
    free = page.then(rest, rest);
    return page;
  }
  function reading(from: bigint): Promise<Page> {
    if (next === undefined) {
      const all: bigint[] = [];
      next = { from: all, page: read(all) };
    }
    next.from.push(from);
    return next.page;
  }
  return async (cursor = ""): Promise<Page> => {
    const from = /^\d{1,18}$/.test(cursor) ? BigInt(cursor) : ALL;
    const page = await reading(from);
    const isOfAnother = from > BigInt(page.cursor);
    if (isOfAnother && !page.whole) return reading(ALL);
    return { ...page, whole: from === ALL || isOfAnother };
  };
}
