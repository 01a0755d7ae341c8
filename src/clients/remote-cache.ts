import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.ts";
import { FetchFailure } from "./guarded-fetch.ts";

/** Seconds between a failed fetch and the next one. */
const PAUSE = 5;

/** Concurrent calls for one key share the outcome of the first, whatever their other arguments are. */
export function singleFlight<T, Rest extends readonly unknown[] = []>(
  work: (key: string, ...rest: Rest) => Promise<T>,
): (key: string, ...rest: Rest) => Promise<T> {
  const inFlight = new Map<string, Promise<T>>();
  return (key, ...rest) => {
    const running = inFlight.get(key);
    if (running !== undefined) return running;
    const started = work(key, ...rest).finally(() => inFlight.delete(key));
    inFlight.set(key, started);
    return started;
  };
}

/** @param maxAge in seconds; an older value is never used  @throws {FetchFailure} `failed_just_now` within 5 seconds of a failure */
export type RemoteCache<Value> = (key: string, maxAge: number) => Promise<Value>;

/** Caches what `load` fetches from third parties. @param size keys that are remembered */
export function remoteCache<Value extends object | string>(
  load: (key: string) => Promise<Value>,
  size: number,
  clock: Clock,
): RemoteCache<Value> {
  const loaded = new LRUCache<string, { readonly value: Value; readonly at: number }>({ max: size });
  const failedAt = new LRUCache<string, number>({ max: size });

  const reload = singleFlight(async (key) => {
    const failure = failedAt.get(key);
    if (failure !== undefined && clock() < failure + PAUSE) throw new FetchFailure("failed_just_now");
    try {
      const value = await load(key);
      loaded.set(key, { value, at: clock() });
      return value;
    } catch (error) {
      failedAt.set(key, clock());
      throw error;
    }
  });

  return async (key, maxAge) => {
    const entry = loaded.get(key);
    return entry !== undefined && clock() < entry.at + maxAge ? entry.value : reload(key);
  };
}
