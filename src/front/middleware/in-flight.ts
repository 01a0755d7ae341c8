import { Refusal } from "../../errors.ts";

/** Requests that are being answered right now, each with a deadline. */
export interface InFlight {
  readonly size: number;
  /**
   * Runs one request.
   * @param essential answered even above the cap
   * @throws {Refusal} temporarily_unavailable above the cap, and when the deadline passes first
   */
  run(work: Work, essential: boolean): Promise<void>;
}

/** Waits for a body on behalf of a request, which meanwhile counts for nothing: who sends slowly must not keep others out. */
export type Receive = <T>(body: () => Promise<T>) => Promise<T>;

type Work = (signal: AbortSignal, receive: Receive) => Promise<void> | void;

const overloaded = () => new Refusal("temporarily_unavailable", "front_overloaded", { retryAfter: 1 });

/** @param cap requests that may be in flight  @param deadline milliseconds that each may take */
export function inFlight(cap = 512, deadline = 15_000): InFlight {
  let size = 0;
  const receive: Receive = async (body) => {
    size -= 1;
    const received = await body().finally(() => {
      size += 1;
    });
    if (size > cap) throw overloaded();
    return received;
  };
  return {
    get size() {
      return size;
    },
    async run(work, essential) {
      if (size >= cap && !essential) throw overloaded();
      size += 1;
      try {
        await beforeDeadline((signal) => work(signal, receive), deadline);
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
