export type ConcurrencyLimit = ReturnType<typeof concurrencyLimit>;

/** Tasks that run at once, tasks that may wait, and the error for a task that finds the queue full. */
export type ConcurrencyOptions = { readonly limit: number; readonly queue: number; readonly full: () => Error };

/** A bounded queue for concurrent work. Where callers must not crowd each other out, use `fairQueue` in accounts. */
export function concurrencyLimit({ limit, queue, full }: ConcurrencyOptions) {
  let running = 0;
  const waiting: (() => void)[] = [];

  const place = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(() => {
        running += 1;
        resolve();
      });
    });

  /** Gives the place to the task that has waited longest, before a new call can take it. */
  const release = (): void => {
    running -= 1;
    waiting.shift()?.();
  };

  return {
    /**
     * Runs a task when a place is free, in the order of the calls.
     * @throws the error of `full` when the queue is full
     */
    async run<T>(task: () => Promise<T>): Promise<T> {
      if (running < limit) running += 1;
      else if (waiting.length < queue) await place();
      else throw full();
      try {
        return await task();
      } finally {
        release();
      }
    },
    get waiting() {
      return waiting.length;
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
