import { setImmediate as endOfTurn } from "node:timers/promises";
import { Refusal } from "../errors.ts";
import type { SecretHash } from "../random.ts";
import { changedNothing, mayBeRepeated } from "./availability.ts";
import { hex, jsonRows, readRows, type Statement, type Tx } from "./sql.ts";

/** The most calls of a batch, and the most that may wait; further ones are refused. */
export type CoalesceLimits = { readonly batch: number; readonly queue: number };

const LIMITS: CoalesceLimits = { batch: 256, queue: 4_096 };

/**
 * Runs one batch at a time. Calls that arrive while it runs form the next one, so that no call is answered by a query that began before it;
 * calls of one turn of the event loop share the first. There is no timer: an idle store adds no latency.
 * @param answer returns one answer for each item, in order
 * @param part how many items of a failed batch are tried again together; all: none is
 */
function coalesce<Item, Answer>(
  limits: CoalesceLimits,
  answer: (items: readonly Item[]) => Promise<readonly Answer[]>,
  part: (error: unknown, length: number) => number,
): (item: Item) => Promise<Answer> {
  const queue: Item[] = [];
  const waiting: PromiseWithResolvers<Answer>[] = []; // one for each item of the queue
  let running = false;

  const settle = async (items: readonly Item[], callers: readonly PromiseWithResolvers<Answer>[]): Promise<void> => {
    try {
      const answers = await answer(items);
      if (answers.length !== items.length) throw new Error("a batch was answered with another number of verdicts");
      for (const [index, { resolve }] of callers.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      const size = part(error, items.length);
      if (size === items.length) for (const { reject } of callers) reject(error);
      else for (let at = 0; at < items.length; at += size) await settle(items.slice(at, at + size), callers.slice(at, at + size));
    }
  };
  const drain = async (): Promise<void> => {
    running = true;
    while (queue.length > 0) {
      await endOfTurn(); // so that all calls of this turn of the event loop join
      await settle(queue.splice(0, limits.batch), waiting.splice(0, limits.batch));
    }
    running = false;
  };

  return (item) => {
    if (queue.length >= limits.queue)
      return Promise.reject(new Refusal("temporarily_unavailable", "storage_queue_full", { retryAfter: 1 }));
    const caller = Promise.withResolvers<Answer>();
    queue.push(item);
    waiting.push(caller);
    if (!running) void drain();
    return caller.promise;
  };
}

/**
 * Batches look-ups of one kind; equal keys of a batch are looked up once.
 * @param load one query for all keys; keys without a value are missing from its map
 * @param keyOf a unique text for a key, which is its key in the map of `load`
 */
export function coalesceReads<Key, Value>(
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>,
  keyOf: (key: Key) => string,
  limits: CoalesceLimits = LIMITS,
): (key: Key) => Promise<Value | undefined> {
  const loadAll = async (keys: readonly Key[]) => {
    const distinct = new Map<string, Key>();
    const texts = keys.map(keyOf);
    for (const [index, text] of texts.entries()) distinct.set(text, keys[index] as Key);
    const found = await load([...distinct.values()]);
    const values: (Value | undefined)[] = [];
    for (const text of texts) values.push(found.get(text));
    return values;
  };
  return coalesce(limits, loadAll, (_error, length) => length);
}

/** Likewise for rows by the hash that the statement returns as `key`, in hexadecimal. @param rows one of rowsStatement */
export const coalesceByHash = <Row extends { readonly key: string }, Value>(sql: Tx, rows: Statement, read: (row: Row) => Value) =>
  coalesceReads(async (hashes: readonly SecretHash[]) => {
    const found = await readRows<Row>(sql, rows, [hashes.map(hex)]);
    return new Map(found.map((row) => [row.key, read(row)]));
  }, hex);

/**
 * Batches state transitions of one kind into one conditional statement. A failed batch has changed nothing, so its rows are tried again, and no
 * call fails because of another: in halves, since a caller may make them fail at will, by a used proof; after a conflict, for which each
 * statement waits, one by one. If the database is out of reach the batch may have taken effect, and nothing is repeated.
 * @param apply one statement for all rows; returns a verdict for each, in order
 */
export const coalesceWrites = <Row, Verdict>(
  apply: (rows: readonly Row[]) => Promise<readonly Verdict[]>,
  limits: CoalesceLimits = LIMITS,
): ((row: Row) => Promise<Verdict>) =>
  coalesce(limits, apply, (error, length) => (!changedNothing(error) ? length : mayBeRepeated(error) ? 1 : Math.ceil(length / 2)));

/**
 * Likewise for a statement that returns the number `n` of each row that takes effect.
 * @param key column by which the rows are sorted, where two batches that change the same rows could deadlock otherwise
 * @returns for each call whether it took effect
 */
export const coalesceTransitions = <Call extends readonly unknown[]>(
  sql: Tx,
  transition: Statement,
  rowOf: (...call: Call) => Readonly<Record<string, unknown>>,
  key?: string,
): ((...call: Call) => Promise<boolean>) => {
  const write = coalesceWrites(async (calls: readonly Call[]) => {
    const rows = calls.map((call, n): Readonly<Record<string, unknown>> => ({ n, ...rowOf(...call) }));
    const sorted = key === undefined ? rows : rows.toSorted((one, other) => (String(one[key]) < String(other[key]) ? -1 : 1));
    const won = await sql.query<{ n: number }>(transition, [jsonRows(sorted)]);
    const answers = Array<boolean>(rows.length).fill(false);
    for (const { n } of won) answers[n] = true;
    return answers;
  });
  return (...call) => write(call);
};
