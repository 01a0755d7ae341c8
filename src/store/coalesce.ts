import { setImmediate as endOfTurn } from "node:timers/promises";
import { Refusal } from "../errors.ts";
import { changedNothing } from "./unavailable.ts";

export interface CoalesceLimits {
  /** The most calls of a batch. */
  readonly batch: number;
  /** The most calls that may wait; further ones are refused. */
  readonly queue: number;
}

const LIMITS: CoalesceLimits = { batch: 256, queue: 4_096 };

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs one batch at a time; calls that arrive while it runs form the next one, so that no call is answered by a query that began before it.
 * Calls of one turn of the event loop share the first batch. There is no timer: an idle store adds no latency.
 */
function coalesce<Item, Answer>(limits: CoalesceLimits, answer: (batch: readonly Waiting<Item, Answer>[]) => Promise<void>) {
  const queue: Waiting<Item, Answer>[] = [];
  let running = false;

  const drain = async (): Promise<void> => {
    running = true;
    while (queue.length > 0) {
      await endOfTurn(); // waits for all calls of this turn of the event loop
      await answer(queue.splice(0, limits.batch));
    }
    running = false;
  };

  return (item: Item): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (queue.length >= limits.queue) {
        reject(new Refusal("temporarily_unavailable", "storage_queue_full", { retryAfter: 1 }));
        return;
      }
      queue.push({ item, resolve, reject });
      if (!running) void drain();
    });
}

/**
 * Batches look-ups of one kind. Equal keys of a batch are looked up once.
 * @param load one query for all keys; a key that is not in its map has no value
 * @param keyOf a text that is unique for a key, under which `load` returns its value
 */
export function coalesceReads<Key, Value>(
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>,
  keyOf: (key: Key) => string,
  limits: CoalesceLimits = LIMITS,
): (key: Key) => Promise<Value | undefined> {
  return coalesce<Key, Value | undefined>(limits, async (batch) => {
    try {
      const texts = batch.map(({ item }) => keyOf(item));
      const found = await load([...new Map(batch.map(({ item }, at) => [texts[at], item])).values()]);
      batch.forEach(({ resolve }, at) => {
        resolve(found.get(texts[at] ?? ""));
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  });
}

/**
 * Batches state transitions of one kind into one conditional statement, which returns a verdict for each row. When a batch fails it has
 * changed nothing, and its rows are tried one by one, so that no call fails because of another. When the database is out of reach the batch
 * may have taken effect, and nothing is repeated.
 * @param apply one statement for all rows; its verdicts are in the order of the rows
 */
export function coalesceWrites<Row, Verdict>(
  apply: (rows: readonly Row[]) => Promise<readonly Verdict[]>,
  limits: CoalesceLimits = LIMITS,
): (row: Row) => Promise<Verdict> {
  const settle = async (batch: readonly Waiting<Row, Verdict>[]): Promise<void> => {
    try {
      const verdicts = await apply(batch.map(({ item }) => item));
      if (verdicts.length !== batch.length) throw new Error("a batch was answered with another number of verdicts");
      batch.forEach(({ resolve }, index) => {
        resolve(verdicts[index] as Verdict);
      });
    } catch (error) {
      if (batch.length > 1 && changedNothing(error)) for (const one of batch) await settle([one]);
      else for (const { reject } of batch) reject(error);
    }
  };
  return coalesce(limits, settle);
}
