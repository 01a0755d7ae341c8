import { setImmediate as endOfTurn } from "node:timers/promises";
import { Refusal } from "../errors.ts";
import { changedNothing } from "./unavailable.ts";

export interface CoalesceLimits {
  /** Calls that go together at most. */
  readonly batch: number;
  /** Calls that may wait; one more is refused. */
  readonly queue: number;
}

const LIMITS: CoalesceLimits = { batch: 256, queue: 4_096 };

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One batch is under way at a time; what arrives meanwhile goes together in the next, so that no call is answered by a query that began
 * before it. Calls of one turn of the event loop share the first. No timer: an idle store adds no latency.
 */
function coalesce<Item, Answer>(limits: CoalesceLimits, answer: (batch: readonly Waiting<Item, Answer>[]) => Promise<void>) {
  const queue: Waiting<Item, Answer>[] = [];
  let running = false;

  const drain = async (): Promise<void> => {
    running = true;
    while (queue.length > 0) {
      await endOfTurn(); // lets in all who come in this turn of the event loop
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
 * Look-ups of one kind, answered together. Equal keys of a batch are asked for once.
 * @param load one query for all keys; what it leaves out of its map is not there
 * @param keyOf a text that tells two keys apart, and under which the answer to a key is found
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
 * State transitions of one kind, applied by one conditional statement, in which each row keeps its own verdict.
 * When a batch fails it has changed nothing, and its rows are tried one by one, so that nobody fails for a neighbour, or waits in vain for what
 * only the neighbour needs; unless the database is out of reach, for then it may have happened and nothing is repeated.
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
