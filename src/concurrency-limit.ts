/** Runs a task as soon as there is room, or refuses it. */
export type ConcurrencyLimit = <T>(task: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export class QueueFull extends Error {
  override readonly name = "QueueFull";
}

/**
 * Lets at most `width` tasks run at once and at most `queue` wait. A task that was waiting when its signal fired is never begun.
 * The place of a task is free when the task has really ended, whether or not somebody still waits for it.
 */
export function concurrencyLimit(width: number, queue: number): ConcurrencyLimit {
  let running = 0;
  const waiting = new Set<() => void>();

  const turn = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener("abort", giveUp);
        waiting.delete(begin);
        running += 1;
        resolve();
      };
      const giveUp = () => {
        waiting.delete(begin);
        reject(signal.reason);
      };
      if (signal.aborted) return giveUp();
      if (running < width) return begin();
      if (waiting.size >= queue) return reject(new QueueFull("too many wait already"));
      waiting.add(begin);
      signal.addEventListener("abort", giveUp, { once: true });
    });

  return async (task, signal) => {
    await turn(signal);
    const ended = task().finally(() => {
      running -= 1;
      waiting.values().next().value?.();
    });
    return untilAborted(ended, signal);
  };
}

/** What a promise becomes, unless the signal fires first; the promise itself is left to end by itself. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
