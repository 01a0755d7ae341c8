import { createHash } from "node:crypto";
import { Redis, ReplyError } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { Rate, RateLimiter } from "../../accounts/ports.ts";
import type { SharedTexts } from "../../clients/document-cache.ts";
import type { Log } from "../../telemetry/log.ts";
import { type Ephemeral, memoryRateLimiter, monotonicSeconds } from "./memory.ts";
import { connectorBy, oneLookup, type ResolveAll } from "./redis-connector.ts";

const FAILURES = 3;
const PAUSE = 1;

/** Stops calls to a failing service, except one each second as a test. @param now seconds of a monotonic clock */
export function breaker(now: () => number) {
  let failures = 0;
  let nextProbe = 0;
  return {
    /** Whether a call may be made now; its outcome must then be reported. */
    mayCall: (): boolean => {
      if (failures < FAILURES) return true;
      if (now() < nextProbe) return false;
      nextProbe = now() + PAUSE;
      return true;
    },
    succeeded: (): void => {
      failures = 0;
    },
    failed: (): void => {
      failures += 1;
      if (failures >= FAILURES) nextProbe = now() + PAUSE;
    },
  };
}

/** After a failover the address may lead to another server, while an open connection stays at the one that became a replica. */
const isOfReplica = ({ message }: Error): boolean => message.includes("READONLY");

/** Times are milliseconds. A late command fails and is not repeated, none waits for a connection, and a silent connection is replaced. */
const connect = (url: string, resolve?: ResolveAll): Redis =>
  new Redis(url, {
    Connector: connectorBy(oneLookup(resolve)),
    connectTimeout: 500,
    commandTimeout: 100,
    socketTimeout: 1_000,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 1_000,
    reconnectOnError: isOfReplica,
  });

/** Seconds without a refused command after which Redis counts as back: one that is full, or a node of a cluster, takes some and refuses others. */
const CALM = 60;
/** Seconds for which the key of a test of writing stays. */
const TEST_KEPT = 60;

/** Logs once for each outage, however often the connection is tried and commands are refused, and once when Redis is back. */
function logOutages(redis: Redis, log: Pick<Log, "info" | "warn"> | undefined, calm: number) {
  let away = false;
  let closed = false;
  let calmAt = 0;
  const gone = (error?: unknown): void => {
    if (away || closed) return;
    away = true;
    const code = wordOf(error);
    log?.warn("redis_away", code === undefined ? {} : { code });
  };
  const isCalm = (): boolean => monotonicSeconds() >= calmAt;
  const back = (): void => {
    if (!away || !isCalm()) return;
    away = false;
    log?.info("redis_back");
  };
  // Without a listener an error event would end the process. A cut connection closes without an error.
  redis.on("error", gone).on("close", () => gone());
  redis.on("ready", back);
  return {
    isCalm,
    back,
    /** Redis answers, and refuses: it is full, read-only, a node of a cluster, or the user may not. */
    failed: (error: unknown): void => {
      if (!(error instanceof ReplyError)) return;
      calmAt = monotonicSeconds() + calm;
      gone(error);
    },
    close: (): void => {
      closed = true;
    },
  };
}

/** The system's code of an error, or the first word of a Redis error; the rest may hold names and addresses. */
const wordOf = (error: unknown): string | undefined =>
  error instanceof Error ? /^[A-Z][A-Z0-9_]{1,31}\b/.exec("code" in error ? String(error.code) : error.message)?.[0] : undefined;

/**
 * Counters and texts in Redis, shared by all processes. Each process also counts its own calls, for when Redis is away.
 * @param deployment the prefix of every key, so that deployments can share one Redis
 * @param log gets one entry when Redis goes away and one when it is back
 * @param calm seconds  @param resolve by default the system's resolver
 */
export function redisEphemeral(
  url: string,
  deployment = "countersign",
  log?: Pick<Log, "info" | "warn">,
  calm = CALM,
  resolve?: ResolveAll,
): Ephemeral {
  const redis = connect(url, resolve);
  const outages = logOutages(redis, log, calm);
  const circuit = breaker(monotonicSeconds);

  /** Undefined when Redis does not answer. */
  const attempt = async <Answer>(command: () => Promise<Answer>): Promise<Answer | undefined> => {
    if (!circuit.mayCall()) return undefined;
    try {
      const answer = await command();
      circuit.succeeded();
      return answer;
    } catch (error) {
      outages.failed(error);
      circuit.failed();
      return undefined;
    }
  };

  const rateLimiter = (name: string, rate: Rate): RateLimiter => {
    const shared = new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: `${deployment}:rate:${name}`,
      points: rate.points,
      duration: rate.seconds,
      rejectIfRedisNotReady: true,
    });
    const local = memoryRateLimiter(rate);
    const waitFor = (refusal: unknown): number => {
      if (refusal instanceof RateLimiterRes) return Math.max(1, Math.ceil(refusal.msBeforeNext / 1_000));
      throw refusal;
    };
    const consumed = async (key: string): Promise<number> => {
      const wait = await shared.consume(key).then(() => 0, waitFor);
      outages.back(); // by a write: a Redis that refuses them answers reads
      return wait;
    };
    return {
      hit: async (key) => {
        // Counted here too: calls that Redis loses or answers late still count, and no caller gets twice the limit.
        const wait = await local.hit(key);
        return wait > 0 ? wait : ((await attempt(() => consumed(key))) ?? 0);
      },
    };
  };

  const texts = (name: string): SharedTexts => {
    // Callers' keys may have any length and characters.
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
        // Writes: a Redis that is full or read-only answers a ping.
        const isWritten = (await redis.set(`${deployment}:written`, "", "EX", TEST_KEPT)) === "OK";
        if (isWritten) outages.back();
        return isWritten && outages.isCalm();
      } catch (error) {
        outages.failed(error);
        return false;
      }
    },
    close: async () => {
      outages.close();
      redis.disconnect();
    },
  };
}
