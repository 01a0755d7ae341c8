export interface ConcurrencyLimit {
  /**
   * Runs a task as soon as one of the places is free. Tasks start in the order of their calls.
   * @param signal ends the wait of the caller; a task that has not started by then never starts. A running task keeps its place until it
   * settles, even when its caller no longer waits for it
   * @throws what `full` returns when no place is free and the queue is full, and the reason of the signal
   */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  readonly running: number;
  readonly waiting: number;
}

export interface ConcurrencyOptions {
  /** Tasks that run at once. */
  readonly limit: number;
  /** Tasks that may wait for a place. */
  readonly queue: number;
  /** The error for a task that finds the queue full. */
  readonly full: () => Error;
}

/** The one limit on concurrent work in this process. Where callers must not crowd each other out: `fairQueue` in accounts. */
export function concurrencyLimit({ limit, queue, full }: ConcurrencyOptions): ConcurrencyLimit {
  let running = 0;
  const waiting = new Set<() => void>();

  const place = (signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const start = () => {
        signal?.removeEventListener("abort", giveUp);
        waiting.delete(start);
        running += 1;
        resolve();
      };
      const giveUp = () => {
        waiting.delete(start);
        reject(signal?.reason);
      };
      waiting.add(start);
      signal?.addEventListener("abort", giveUp, { once: true });
    });

  /** Gives the place to the task that has waited longest, before a new call can take it. */
  const release = (): void => {
    running -= 1;
    waiting.values().next().value?.();
  };
  const runInPlace = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await task();
    } finally {
      release();
    }
  };

  return {
    async run(task, signal) {
      signal?.throwIfAborted();
      if (running < limit) running += 1;
      else if (waiting.size < queue) await place(signal);
      else throw full();
      const result = runInPlace(task);
      return signal === undefined ? result : untilAborted(result, signal);
    },
    get running() {
      return running;
    },
    get waiting() {
      return waiting.size;
    },
  };
}

/** Settles with the promise, or rejects with the signal's reason if that comes first. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
