import { Refusal } from "../errors.ts";

export interface QueueLimits {
  /** Jobs that run at the same time. */
  readonly width: number;
  /** Jobs that may wait, of all keys together. */
  readonly queue: number;
  /** Jobs of one key that may wait. */
  readonly share: number;
  /** Milliseconds that a job may wait. */
  readonly wait: number;
}

/**
 * Runs jobs, a few at a time. Keys take turns, so that a key with many jobs delays the others by one job each.
 * @param key whose job it is, such as a network address
 * @throws {Refusal} temporarily_unavailable when there is no room to wait, or the wait was too long; the job has then not begun
 */
export type FairQueue = <T>(key: string, job: () => Promise<T>) => Promise<T>;

const overloaded = (reason: string) => new Refusal("temporarily_unavailable", reason, { retryAfter: 1 });

interface Waiting {
  readonly key: string;
  start(): void;
  refuse(reason: string): void;
}

/**
 * A queue of bounded length that one key cannot fill: when it is full, the newest job of the key with the most jobs makes room for a key
 * that has fewer.
 */
export function fairQueue({ width, queue, share, wait }: QueueLimits): FairQueue {
  /** Keys in the order of their turns, the jobs of each in the order of their arrival. */
  const waiting = new Map<string, Set<Waiting>>();
  let length = 0;
  let running = 0;

  const add = (entry: Waiting): void => {
    const own = waiting.get(entry.key) ?? new Set();
    waiting.set(entry.key, own.add(entry));
    length += 1;
  };
  const remove = (entry: Waiting): void => {
    const own = waiting.get(entry.key);
    if (own?.delete(entry)) length -= 1;
    if (own?.size === 0) waiting.delete(entry.key);
  };

  function hasRoom(key: string): boolean {
    const own = waiting.get(key)?.size ?? 0;
    if (own >= share) return false;
    if (length < queue) return true;
    const longest = [...waiting.values()].reduce((most, each) => (each.size > most.size ? each : most), new Set<Waiting>());
    if (longest.size <= own + 1) return false;
    [...longest].at(-1)?.refuse("queue_full");
    return true;
  }

  const turn = (key: string) =>
    new Promise<void>((resolve, reject) => {
      if (!hasRoom(key)) return reject(overloaded("queue_full"));
      const leave = (settle: () => void): void => {
        clearTimeout(timer);
        remove(entry);
        settle();
      };
      const entry: Waiting = { key, start: () => leave(resolve), refuse: (reason) => leave(() => reject(overloaded(reason))) };
      const timer = setTimeout(() => entry.refuse("queue_wait"), wait);
      add(entry);
    });

  /** Hands the place of a job that has ended to the next key, so that `running` stays the same while any job waits. */
  function handOn(): void {
    const [first] = waiting;
    if (first === undefined) {
      running -= 1;
      return;
    }
    const [key, own] = first;
    const [next] = own;
    next?.start();
    if (waiting.delete(key)) waiting.set(key, own);
  }

  return async (key, job) => {
    if (running < width) running += 1;
    else await turn(key);
    try {
      return await job();
    } finally {
      handOn();
    }
  };
}
