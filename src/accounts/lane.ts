import { Refusal } from "../errors.ts";

export interface LaneLimits {
  /** Jobs that run at the same time. */
  readonly width: number;
  /** Jobs that may wait. */
  readonly queue: number;
  /** Milliseconds that a job may wait. */
  readonly wait: number;
}

/** Runs jobs, a few at a time. @throws {Refusal} temporarily_unavailable when the queue is full or the wait too long */
export type Lane = <T>(job: () => Promise<T>) => Promise<T>;

interface Waiting {
  readonly start: () => void;
}

const overloaded = (reason: string) => new Refusal("temporarily_unavailable", reason, { retryAfter: 1 });

/** A lane of its own for work that would otherwise crowd out everything else, such as password hashing. */
export function lane({ width, queue, wait }: LaneLimits): Lane {
  const waiting = new Set<Waiting>();
  let running = 0;

  const turn = () =>
    new Promise<void>((resolve, reject) => {
      if (waiting.size >= queue) return reject(overloaded("lane_full"));
      const entry: Waiting = {
        start: () => {
          clearTimeout(timer);
          waiting.delete(entry);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        waiting.delete(entry);
        reject(overloaded("lane_wait"));
      }, wait);
      waiting.add(entry);
    });

  return async (job) => {
    if (running < width) running += 1;
    else await turn();
    try {
      return await job();
    } finally {
      // The place is handed on, so that `running` stays as it is while anyone waits.
      const [next] = waiting;
      if (next) next.start();
      else running -= 1;
    }
  };
}
