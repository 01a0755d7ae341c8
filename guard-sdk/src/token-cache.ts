import type { IssuerKeys } from "./issuer-keys.ts";
import type { Principal } from "./principal.ts";
import type { VerificationKey } from "./signature.ts";

/** A token that was found good, and what must still hold for it to stay so. */
export interface VerifiedToken {
  readonly principal: Principal;
  readonly keys: IssuerKeys;
  readonly kid: string | undefined;
  readonly key: VerificationKey;
}

export interface TokenCache {
  get(digest: string, now: number): VerifiedToken | undefined;
  set(digest: string, token: VerifiedToken): void;
}

/**
 * Remembers verified tokens by their SHA-256 until they expire, the least recently used leaving first. It may forget at
 * any time, and holds no token text.
 * @param capacity entries; 0 remembers nothing
 */
export function tokenCache(capacity: number): TokenCache {
  const entries = new Map<string, VerifiedToken>(); // a Map iterates in the order of insertion: oldest first
  return {
    get(digest, now) {
      const entry = entries.get(digest);
      if (entry === undefined) return undefined;
      entries.delete(digest);
      if (entry.principal.expiresAt <= now) return undefined;
      entries.set(digest, entry);
      return entry;
    },
    set(digest, token) {
      entries.delete(digest);
      entries.set(digest, token);
      for (const oldest of entries.keys()) {
        if (entries.size <= capacity) break;
        entries.delete(oldest);
      }
    },
  };
}
