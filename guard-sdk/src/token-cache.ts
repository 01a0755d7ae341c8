import type { Principal } from "./principal.ts";

/** What is remembered of a token that was found good. */
export interface Remembered {
  readonly principal: Principal;
}

/**
 * Remembers verified tokens by their SHA-256 until they expire, the least recently used leaving first. It may forget at
 * any time, and holds no token text.
 * @param capacity entries; 0 remembers nothing
 */
export function tokenCache<Entry extends Remembered>(capacity: number) {
  const entries = new Map<string, Entry>(); // a Map iterates in the order of insertion: oldest first
  return {
    get(digest: string, now: number): Entry | undefined {
      const entry = entries.get(digest);
      if (entry === undefined) return undefined;
      entries.delete(digest);
      if (entry.principal.expiresAt <= now) return undefined;
      entries.set(digest, entry);
      return entry;
    },
    set: (digest: string, token: Entry) => remember(entries, digest, token, capacity),
  };
}

/** The entry that was least recently used leaves first. */
export function remember<Value>(entries: Map<string, Value>, name: string, value: Value, capacity: number): void {
  entries.delete(name);
  entries.set(name, value);
  const oldest = entries.keys().next().value;
  if (entries.size > capacity && oldest !== undefined) entries.delete(oldest);
}
