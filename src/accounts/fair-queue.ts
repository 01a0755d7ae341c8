import { Refusal } from "../errors.ts";

/** Jobs that run at once (`width`), that may wait in all (`queue`) and for each key (`share`), and milliseconds that a job may wait. */
export type QueueLimits = { readonly width: number; readonly queue: number; readonly share: number; readonly wait: number };

/**
 * Runs jobs, a few at a time. Keys take turns, so a key with many jobs delays each other key by one job only.
 * @param key the owner of the job, such as a network address
 * @throws {Refusal} temporarily_unavailable when the queue is full or the wait was too long; the job has then not started
 */
export type FairQueue = <T>(key: string, job: () => Promise<T>) => Promise<T>;

const overloaded = (reason: string) => new Refusal("temporarily_unavailable", reason, { retryAfter: 1 });

interface Waiting {
  readonly key: string;
  start(): void;
  refuse(reason: string): void;
}

/**
 * A bounded queue that one key cannot keep from others: when it is full, the newest job of the key with the most jobs gives way to a key
 * with fewer. Use `concurrencyLimit` for work without competing callers.
 */
export function fairQueue({ width, queue, share, wait }: QueueLimits): FairQueue {
  /** Keys in the order of their turns, the jobs of each in the order of their arrival. */
  const waiting = new Map<string, Set<Waiting>>();
  let length = 0;
  let running = 0;

  const add = (entry: Waiting): void => {
    const jobs = waiting.get(entry.key) ?? new Set();
    waiting.set(entry.key, jobs.add(entry));
    length += 1;
  };
  const remove = (entry: Waiting): void => {
    const jobs = waiting.get(entry.key);
    if (jobs?.delete(entry)) length -= 1;
    if (jobs?.size === 0) waiting.delete(entry.key);
  };

  function hasRoom(key: string): boolean {
    const count = waiting.get(key)?.size ?? 0;
    if (count >= share) return false;
    if (length < queue) return true;
    const longest = [...waiting.values()].reduce((most, each) => (each.size > most.size ? each : most), new Set<Waiting>());
    if (longest.size <= count + 1) return false;
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

  /** Gives the place of a finished job to the next key. `running` stays the same while any job waits. */
  function release(): void {
    const [first] = waiting;
    if (first === undefined) {
      running -= 1;
      return;
    }
    const [key, jobs] = first;
    const [next] = jobs;
    next?.start();
    if (waiting.delete(key)) waiting.set(key, jobs);
  }

  return async (key, job) => {
    if (running < width) running += 1;
    else await turn(key);
    try {
      return await job();
    } finally {
      release();
    }
  };
}
