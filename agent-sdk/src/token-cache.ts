import { AgentError } from "./errors.ts";

/** An access token as an agent uses it. */
export interface AccessToken {
  readonly value: string;
  /** `DPoP` where it is bound to the agent's key. */
  readonly scheme: "Bearer" | "DPoP";
  /** What was granted. */
  readonly scope: string | undefined;
  /** Seconds since the epoch. */
  readonly issuedAt: number;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

/** What a token is for. Two requests that agree in all of it may share one token. */
export interface TokenUse {
  /** In whose name: the agent's own, or a digest of the token of a user. */
  readonly party: string;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  readonly isBound: boolean;
}

/** The order of scopes does not matter (RFC 6749 §3.3). */
export const cacheKey = ({ party, resource, scope, isBound }: TokenUse): string =>
  JSON.stringify([party, resource, scope?.split(" ").sort(), isBound]);

/** A request on its way needs some time before the token is verified. */
const MARGIN = 5;

/**
 * Whether a token can be used: `stale` means yes, but get the next one now. That begins when a fifth of its life is left.
 * @param now seconds since the epoch
 */
export function freshnessOf(
  { issuedAt, expiresAt }: Pick<AccessToken, "issuedAt" | "expiresAt">,
  now: number,
): "fresh" | "stale" | "expired" {
  const life = expiresAt - issuedAt;
  if (now >= expiresAt - Math.min(MARGIN, life / 10)) return "expired";
  return now >= expiresAt - life / 5 ? "stale" : "fresh";
}

const CAPACITY = 1_000;
/** Seconds between attempts to renew a token that still works, unless the server asks for more (`Retry-After`). */
const RENEWAL_PAUSE = 10;

interface Entry {
  readonly token: AccessToken;
  renewAfter: number;
}

/** Sets an entry; the one that was set first leaves when there are too many. */
export function keep<Value>(entries: Map<string, Value>, name: string, value: Value, capacity: number): void {
  entries.delete(name);
  entries.set(name, value);
  const [oldest = name] = entries.keys();
  if (entries.size > capacity) entries.delete(oldest);
}

export type TokenCache = ReturnType<typeof tokenCache>;

/** @param now seconds since the epoch */
export function tokenCache(now: () => number) {
  const entries = new Map<string, Entry>();
  const running = new Map<string, Promise<AccessToken>>();

  const requested = (key: string, request: () => Promise<AccessToken>): Promise<AccessToken> => {
    const already = running.get(key);
    if (already !== undefined) return already;
    const started = request()
      .then((token) => {
        keep(entries, key, { token, renewAfter: 0 }, CAPACITY);
        return token;
      })
      .finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };

  return {
    /** The token of a use, from memory or by `request`, which runs once however many wait for it. @throws what `request` throws */
    async obtain(key: string, request: () => Promise<AccessToken>): Promise<AccessToken> {
      const entry = entries.get(key);
      const freshness = entry === undefined ? "expired" : freshnessOf(entry.token, now());
      if (entry === undefined || freshness === "expired") return requested(key, request);
      if (freshness === "stale" && now() >= entry.renewAfter) {
        entry.renewAfter = now() + RENEWAL_PAUSE;
        requested(key, request).catch((error: unknown) => {
          // The token at hand still works.
          if (error instanceof AgentError) entry.renewAfter = Math.max(entry.renewAfter, now() + (error.retryAfter ?? 0));
        });
      }
      return entry.token;
    },
    /** Forgets a token that was refused, unless another has taken its place. */
    drop(key: string, refused: AccessToken): void {
      if (entries.get(key)?.token === refused) entries.delete(key);
    },
  };
}
