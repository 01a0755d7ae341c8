export type ConcurrencyLimit = ReturnType<typeof concurrencyLimit>;

/** Tasks that run at once, tasks that may wait, and the error for a task that finds the queue full. */
export type ConcurrencyOptions = { readonly limit: number; readonly queue: number; readonly full: () => Error };

/** A bounded queue for concurrent work. Where callers must not crowd each other out, use `fairQueue` in accounts. */
export function concurrencyLimit({ limit, queue, full }: ConcurrencyOptions) {
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
    /**
     * Runs a task when a place is free, in the order of the calls. A running task keeps its place until it settles.
     * @param signal ends the wait of the caller; a task that has not started by then never starts
     * @throws the error of `full` when the queue is full, and the reason of the signal
     */
    async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
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
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
