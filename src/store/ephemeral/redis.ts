import { createHash } from "node:crypto";
import { Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { RateLimiter } from "../../accounts/ports.ts";
import type { SharedTexts } from "../../clients/shared-documents.ts";
import type { Log } from "../../telemetry/log.ts";
import { breaker } from "./breaker.ts";
import { type Ephemeral, memoryRateLimiter, monotonicSeconds } from "./memory.ts";

/**
 * Milliseconds. A command that is late is given up, never repeated, and nothing waits for a connection; a wire that has gone silent is
 * replaced.
 */
const connect = (url: string): Redis =>
  new Redis(url, {
    connectTimeout: 500,
    commandTimeout: 100,
    socketTimeout: 1_000,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 1_000,
  });

/** Says that Redis is away once an outage, however often the connection is tried, and once that it is back. */
function logOutages(redis: Redis, log: Pick<Log, "info" | "warn"> | undefined): { close(): void } {
  let away = false;
  let closed = false;
  const gone = (error?: unknown): void => {
    if (away || closed) return;
    away = true;
    const code = wordOf(error);
    log?.warn("redis_away", code === undefined ? {} : { code });
  };
  // An unheard error event would end the process. A wire that is cut ends without an error.
  redis.on("error", gone).on("close", () => gone());
  redis.on("ready", () => {
    if (away) log?.info("redis_back");
    away = false;
  });
  return {
    close: () => {
      closed = true;
    },
  };
}

/** The system's code of an error, or the word that a refusal of Redis begins with; the rest of its text may hold names and addresses. */
const wordOf = (error: unknown): string | undefined =>
  error instanceof Error ? /^[A-Z][A-Z0-9_]{1,31}\b/.exec("code" in error ? String(error.code) : error.message)?.[0] : undefined;

/**
 * Counters and texts in Redis, shared by all processes; each process counts its own calls too, which is what holds while Redis is away.
 * @param deployment goes before every key, so that two deployments may use one Redis
 * @param log told once that Redis went away, and once that it is back
 */
export function redisEphemeral(url: string, deployment = "countersign", log?: Pick<Log, "info" | "warn">): Ephemeral {
  const redis = connect(url);
  const told = logOutages(redis, log);
  const circuit = breaker(monotonicSeconds);

  const rateLimiter = (name: string, limit: number, windowSeconds: number): RateLimiter => {
    const shared = new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: `${deployment}:rate:${name}`,
      points: limit,
      duration: windowSeconds,
      rejectIfRedisNotReady: true,
    });
    const own = memoryRateLimiter(limit, windowSeconds);
    return {
      hit: async (key) => {
        // Counted here as well, so that what Redis loses, or is too late for, is not forgotten, and nobody gets twice the limit.
        const wait = await own.hit(key);
        if (wait > 0 || !circuit.mayCall()) return wait;
        try {
          await shared.consume(key);
          circuit.succeeded();
          return 0;
        } catch (error) {
          if (error instanceof RateLimiterRes) {
            circuit.succeeded();
            return Math.max(1, Math.ceil(error.msBeforeNext / 1_000));
          }
          circuit.failed();
          return wait;
        }
      },
    };
  };

  /** The answer of a command, undefined when there is none: what Redis cannot say is not there. */
  const attempt = async <Answer>(command: () => Promise<Answer>): Promise<Answer | undefined> => {
    if (!circuit.mayCall()) return undefined;
    try {
      const answer = await command();
      circuit.succeeded();
      return answer;
    } catch {
      circuit.failed();
      return undefined;
    }
  };

  const texts = (name: string): SharedTexts => {
    // Keys are what strangers sent, of any length and with any character.
    const keyOf = (key: string) => `${deployment}:text:${name}:${createHash("sha256").update(key).digest("base64url")}`;
    return {
      get: async (key) => (await attempt(() => redis.get(keyOf(key)))) ?? undefined,
      set: async (key, text, seconds) => {
        await attempt(() => redis.set(keyOf(key), text, "EX", Math.max(1, Math.floor(seconds))));
      },
    };
  };

  return {
    rateLimiter,
    texts,
    ping: async () => {
      try {
        return (await redis.ping()) === "PONG";
      } catch {
        return false;
      }
    },
    close: async () => {
      told.close();
      redis.disconnect();
    },
  };
}
