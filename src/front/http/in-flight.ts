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
  const deadlines = commonDeadline(deadline);
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
        await beforeDeadline((signal) => work(signal, receive), deadlines);
      } finally {
        size -= 1;
      }
    },
  };
}

interface Waiting {
  /** By performance.now(). */
  readonly until: number;
  giveUp(): void;
}

interface Deadlines {
  /** @returns a place, which is free again once it is given to `end` */
  begin(giveUp: () => void): number;
  end(place: number): void;
}

/**
 * One timer for whatever must end within the same time: it waits for the oldest, for a timer each would cost more than all else here.
 * They stand in places that are used again. A Set would leave a trail of outgrown tables, each of which keeps the next one and its requests
 * from being forgotten until the whole heap is searched.
 */
function commonDeadline(milliseconds: number): Deadlines {
  const places: (Waiting | undefined)[] = [];
  const free: number[] = [];
  let armed = false;
  const arm = (wait: number): void => {
    armed = true;
    setTimeout(look, wait).unref(); // what is under way has a socket that keeps the process alive
  };
  function look(): void {
    armed = false;
    const now = performance.now();
    const open = places.filter((one) => one !== undefined);
    const rest = open.filter(({ until }) => until > now);
    if (rest.length > 0) arm(Math.min(...rest.map(({ until }) => until)) - now);
    for (const one of open) if (one.until <= now) one.giveUp();
  }
  return {
    begin(giveUp) {
      const place = free.pop() ?? places.length;
      places[place] = { until: performance.now() + milliseconds, giveUp };
      if (!armed) arm(milliseconds);
      return place;
    },
    end(place) {
      places[place] = undefined;
      free.push(place);
    },
  };
}

const beforeDeadline = (work: (signal: AbortSignal) => Promise<void> | void, deadlines: Deadlines): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = new AbortController();
    const place = deadlines.begin(() => {
      const refusal = new Refusal("temporarily_unavailable", "deadline_passed", { retryAfter: 1 });
      abort.abort(refusal);
      reject(refusal);
    });
    const settle = async () => work(abort.signal);
    settle().then(
      () => {
        deadlines.end(place);
        resolve();
      },
      (error) => {
        deadlines.end(place);
        reject(error);
      },
    );
  });
