import { LRUCache } from "lru-cache";
import type { RateLimiter } from "../../accounts/ports.ts";
import type { SharedTexts } from "../../clients/shared-documents.ts";

/** What may be lost at any moment without harm: it limits rates, spares work and decides nothing else (rule R1). */
export interface Ephemeral {
  /** @param name tells limiters apart; all processes that share a Redis share what is counted under it */
  rateLimiter(name: string, limit: number, windowSeconds: number): RateLimiter;
  /** @param name tells caches apart, likewise shared */
  texts(name: string): SharedTexts;
  /** Whether the service behind it answers; in memory there is none that could fail. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

/** Keys that a limiter remembers; past it the one unused for longest is forgotten, which only ever lets a call pass. */
const KEYS = 50_000;

/** Monotonic, so that a clock that is set does not move a window. */
export const monotonicSeconds = (): number => performance.now() / 1_000;

/**
 * Counts calls in windows that begin with a key's first call, in this process alone and in bounded memory.
 * @param now seconds of a clock that never goes back
 */
export function memoryRateLimiter(limit: number, windowSeconds: number, now: () => number = monotonicSeconds): RateLimiter {
  const windows = new LRUCache<string, { calls: number; readonly endsAt: number }>({ max: KEYS });
  return {
    hit: async (key) => {
      const at = now();
      const known = windows.get(key);
      const window = known !== undefined && known.endsAt > at ? known : { calls: 0, endsAt: at + windowSeconds };
      if (window !== known) windows.set(key, window);
      window.calls += 1;
      return window.calls <= limit ? 0 : Math.max(1, Math.ceil(window.endsAt - at));
    },
  };
}

const TEXTS = 1_000;

/** Texts in this process alone, in bounded number. */
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
  rateLimiter: (_, limit, windowSeconds) => memoryRateLimiter(limit, windowSeconds),
  ping: async () => true,
  close: async () => {},
});
