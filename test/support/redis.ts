import { Redis } from "ioredis";

/**
 * The URL of an empty database on the server at TEST_REDIS_URL, one for each worker of the test run; undefined when that is not set. It
 * is flushed, so that earlier counts do not affect this run.
 */
export async function freshRedis(): Promise<string | undefined> {
  const server = process.env.TEST_REDIS_URL;
  if (server === undefined) return undefined;
  const url = new URL(server);
  url.pathname = `/${Number(process.env.VITEST_POOL_ID ?? 0) % 16}`;
  const redis = new Redis(url.href);
  await redis.flushdb();
  redis.disconnect();
  return url.href;
}
