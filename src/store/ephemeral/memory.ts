import { LRUCache } from "lru-cache";
import type { Rate, RateLimiter } from "../../accounts/ports.ts";
import type { SharedTexts } from "../../clients/document-cache.ts";

/** State that may be lost at any moment: it only limits rates and saves work. */
export interface Ephemeral {
  /** @param name of the limiter, whose counts all processes on one Redis share */
  rateLimiter(name: string, rate: Rate): RateLimiter;
  /** @param name of the cache, which is shared likewise */
  texts(name: string): SharedTexts;
  /** Whether the service behind it answers; always true in memory. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

/** The most keys of a limiter. Beyond it the least recently used is dropped, which can only let a call pass. */
const KEYS = 50_000;

/** Monotonic, so that setting the clock does not move a window. */
export const monotonicSeconds = (): number => performance.now() / 1_000;

/** Counts calls in windows that begin with a key's first call, in bounded memory. @param now seconds of a monotonic clock */
export function memoryRateLimiter({ points, seconds }: Rate, now: () => number = monotonicSeconds): RateLimiter {
  // By size, not by `max`, for which the cache would take a megabyte at once: there are some twenty limiters.
  const windows = new LRUCache<string, { calls: number; readonly endsAt: number }>({ maxSize: KEYS, sizeCalculation: () => 1 });
  return {
    hit: async (key) => {
      const at = now();
      const current = windows.get(key);
      const window = current !== undefined && current.endsAt > at ? current : { calls: 0, endsAt: at + seconds };
      if (window !== current) windows.set(key, window);
      window.calls += 1;
      return window.calls <= points ? 0 : Math.max(1, Math.ceil(window.endsAt - at));
    },
  };
}

const TEXTS = 1_000;

/** Texts in this process, in bounded number. */
function memoryTexts(): SharedTexts {
  const texts = new LRUCache<string, string>({ max: TEXTS });
  return {
    get: async (key) => texts.get(key),
    set: async (key, text, seconds) => {
      texts.set(key, text, { ttl: seconds * 1_000 });
    },
  };
}

export const memoryEphemeral = (): Ephemeral => ({
  texts: memoryTexts,
  rateLimiter: (_, rate) => memoryRateLimiter(rate),
  ping: async () => true,
  close: async () => {},
});
