import { FetchFailure, NO_PLACE } from "../clients/guarded-fetch.ts";

/** What runs at once in all, and of one host; what may wait; and milliseconds for which it may. */
export type PlaceLimits = { readonly limit: number; readonly ofHost: number; readonly queue: number; readonly wait: number };

/** Runs a task when there is a place for its host. @throws {FetchFailure} when there is none in time */
export type FetchPlaces = <T>(host: string, task: () => Promise<T>) => Promise<T>;

const noPlace = () => new FetchFailure(NO_PLACE);

/**
 * Places for fetches, of which hosts that do not answer leave some to others: each has fewer than are free, so that the first one takes half of
 * them at most, and each further one half of the rest. Those that wait are bounded alike, and begin in the order of their arrival as soon as
 * their host may have another place.
 */
export function fetchPlaces({ limit, ofHost, queue, wait }: PlaceLimits): FetchPlaces {
  const [running, waits] = [new Map<string, number>(), new Map<string, number>()];
  let total = 0;
  const waiting = new Set<{ readonly host: string; start(): void }>();

  const add = (counts: Map<string, number>, host: string, more: 1 | -1): void => {
    const count = (counts.get(host) ?? 0) + more;
    if (count === 0) counts.delete(host);
    else counts.set(host, count);
  };
  const mayStart = (host: string): boolean => {
    const own = running.get(host) ?? 0;
    return own < ofHost && own < limit - total;
  };
  const take = (host: string): void => {
    total += 1;
    add(running, host, 1);
  };
  const turn = (host: string): Promise<void> => {
    if ((waits.get(host) ?? 0) >= queue - waiting.size) throw noPlace();
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        waiting.delete(entry);
        add(waits, host, -1);
      };
      const entry = {
        host,
        start: () => {
          leave();
          take(host);
          resolve();
        },
      };
      const giveUp = () => {
        leave();
        reject(noPlace());
      };
      const timer = setTimeout(giveUp, wait);
      waiting.add(entry);
      add(waits, host, 1);
    });
  };
  const release = (host: string): void => {
    total -= 1;
    add(running, host, -1);
    for (const each of waiting) if (mayStart(each.host)) each.start();
  };

  return async (host, task) => {
    if (mayStart(host)) take(host);
    else await turn(host);
    try {
      return await task();
    } finally {
      release(host);
    }
  };
}
