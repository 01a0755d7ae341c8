import { Refusal } from "../../errors.ts";

/** Requests that are being answered right now, each with a deadline. */
export interface InFlight {
  readonly size: number;
  /**
   * Runs one request.
   * @param essential answered even above the cap
   * @throws {Refusal} temporarily_unavailable above the cap, and when the deadline passes first
   */
  run(work: (signal: AbortSignal) => Promise<void> | void, essential: boolean): Promise<void>;
}

/** @param cap requests that may be in flight  @param deadline milliseconds that each may take */
export function inFlight(cap = 512, deadline = 15_000): InFlight {
  let size = 0;
  return {
    get size() {
      return size;
    },
    async run(work, essential) {
      if (size >= cap && !essential) throw new Refusal("temporarily_unavailable", "front_overloaded", { retryAfter: 1 });
      size += 1;
      try {
        await beforeDeadline(work, deadline);
      } finally {
        size -= 1;
      }
    },
  };
}

const beforeDeadline = (work: (signal: AbortSignal) => Promise<void> | void, deadline: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const refusal = new Refusal("temporarily_unavailable", "deadline_passed", { retryAfter: 1 });
      abort.abort(refusal);
      reject(refusal);
    }, deadline);
    const settle = async () => work(abort.signal);
    settle()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
