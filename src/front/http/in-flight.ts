import { Refusal } from "../../errors.ts";

/** The requests in flight, each with a deadline. */
export type InFlight = ReturnType<typeof inFlight>;

/** Waits for a request's body. Until it has arrived, the request does not count towards the cap: slow senders must not keep others out. */
export type Receive = <T>(body: () => Promise<T>) => Promise<T>;

type Work = (signal: AbortSignal, receive: Receive) => Promise<void> | void;

const overloaded = () => new Refusal("temporarily_unavailable", "front_overloaded", { retryAfter: 1 });

/** @param cap requests that may be in flight  @param deadline milliseconds that each may take */
export function inFlight(cap = 512, deadline = 15_000) {
  let size = 0;
  const deadlines = commonDeadline(deadline);
  const receive: Receive = async (body) => {
    size -= 1;
    let received: Awaited<ReturnType<typeof body>>;
    try {
      received = await body();
    } finally {
      size += 1;
    }
    if (size > cap) throw overloaded();
    return received;
  };
  return {
    get size(): number {
      return size;
    },
    /** Runs a request, an essential one even above the cap. @throws {Refusal} temporarily_unavailable above the cap, past the deadline */
    async run(work: Work, essential: boolean): Promise<void> {
      if (size >= cap && !essential) throw overloaded();
      size += 1;
      const abort = new AbortController();
      const overdue = Promise.withResolvers<never>();
      const slot = deadlines.begin(() => {
        const refusal = new Refusal("temporarily_unavailable", "deadline_passed", { retryAfter: 1 });
        abort.abort(refusal);
        overdue.reject(refusal);
      });
      try {
        await Promise.race([work(abort.signal, receive), overdue.promise]);
      } finally {
        size -= 1;
        deadlines.end(slot);
      }
    },
  };
}

/**
 * One timer for all requests, which waits for the oldest: a timer for each would cost more than the rest of this file.
 * Their slots are reused. A growing Set would leave old tables behind that keep requests alive until a full garbage collection.
 */
function commonDeadline(milliseconds: number) {
  const slots: ({ readonly until: number; readonly giveUp: () => void } | undefined)[] = []; // `until` by performance.now()
  const free: number[] = [];
  let armed = false;
  const arm = (wait: number): void => {
    armed = true;
    setTimeout(look, wait).unref(); // a request in flight has a socket that keeps the process alive
  };
  function look(): void {
    armed = false;
    const now = performance.now();
    const open = slots.filter((one) => one !== undefined);
    const rest = open.filter(({ until }) => until > now);
    if (rest.length > 0) arm(Math.min(...rest.map(({ until }) => until)) - now);
    for (const one of open) if (one.until <= now) one.giveUp();
  }
  return {
    /** @returns a slot, to be given back to `end` */
    begin(giveUp: () => void): number {
      const slot = free.pop() ?? slots.length;
      slots[slot] = { until: performance.now() + milliseconds, giveUp };
      if (!armed) arm(milliseconds);
      return slot;
    },
    end(slot: number): void {
      slots[slot] = undefined;
      free.push(slot);
    },
  };
}
