import { rmSync } from "node:fs";
import { join } from "node:path";
import { test as base, describe } from "vitest";
import { compose, type Running } from "../../src/compose.ts";
import { loadConfig } from "../../src/config.ts";
import { parseProvisionFile } from "../../src/management/provision.ts";
import { openDatabase } from "../../src/store/orm.ts";
import { aDataDir } from "./data-directory.ts";
import { serverDriver } from "./flow.ts";
import { freePort } from "./free-port.ts";
import { type LentDatabase, lentDatabase } from "./lent-database.ts";
import { TEST_DATABASE_URL } from "./postgres.ts";
import { clients, PROVISIONED } from "./provisioned.ts";
import { freshRedis } from "./redis.ts";

export { OPERATOR, PROVISIONED } from "./provisioned.ts";
export { describe };

export type Shape = "one" | "split";

/** The lowest cost that argon2 accepts. test/unit/accounts/password-hash.test.ts checks the production cost. */
export const LOW_COST = { memoryCost: 8, timeCost: 1, parallelism: 1 };

/** The database that DATABASE_URL names, or a lent one. */
const databaseOf = async ({ DATABASE_URL: url, DATABASE_POOLER }: Readonly<Record<string, string>>): Promise<LentDatabase> =>
  url === undefined
    ? lentDatabase(TEST_DATABASE_URL === undefined ? "embedded" : "postgresql")
    : { database: await openDatabase({ url, pool: { pooler: DATABASE_POOLER === "transaction" ? "transaction" : "none" } }), url };

export interface ServerOptions {
  readonly env?: Record<string, string>;
  /** One process, or front and core that communicate over gRPC. */
  readonly shape?: Shape;
  readonly provision?: object;
}

/**
 * A whole server on free loopback ports with a lent database: embedded, or PostgreSQL (and Redis) where TEST_DATABASE_URL (and
 * TEST_REDIS_URL) are set. In the split shape front and core share one database and communicate over gRPC.
 */
export async function startServer({
  env = {},
  shape = (process.env.TEST_SHAPE as Shape | undefined) ?? "one",
  provision = PROVISIONED,
}: ServerOptions = {}) {
  const plan = parseProvisionFile(JSON.stringify(provision));
  const redisUrl = await freshRedis();
  const dataDir = aDataDir();
  const { database, url: databaseUrl } = await databaseOf(env);
  const [port, grpcPort] = [await freePort(), await freePort()];
  const settings = {
    NODE_ENV: "test",
    PORT: String(port),
    GRPC_PORT: String(grpcPort),
    DATA_DIR: dataDir,
    LOG_LEVEL: "warn",
    DEFAULT_DYNAMIC_REGISTRATION_SCOPES: "openid profile email offline_access notes:read notes:write",
    REGISTER_CLIENT_RATE_LIMIT: "1000",
    SIGN_UP_RATE_LIMIT: "1000",
    TOKEN_CORE_SECRET: "the front's secret, long enough to be one",
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    ...env,
  };
  const config =
    shape === "split" ? loadConfig({ ...settings, TOKEN_CORE_URL: `http://127.0.0.1:${grpcPort}` }, "front") : loadConfig(settings);
  const running: Running[] = [];
  const logged: string[] = [];
  const logSink = { write: (line: string) => void logged.push(line) };
  const given = { database, logSink, passwordCost: LOW_COST };
  const start = async () => {
    if (shape === "split") running.push(await compose(loadConfig(settings, "core"), "core", { ...given, provision: plan }));
    running.push(await compose(config, shape === "split" ? "front" : "all", { ...given, ...(shape === "one" && { provision: plan }) }));
  };
  const stop = async () => {
    for (const part of running.splice(0).reverse()) await part.close(0);
  };
  try {
    await start();
  } catch (error) {
    await stop();
    await database.close();
    throw error;
  }
  return {
    ...serverDriver(config.issuer, join(dataDir, "outbox")),
    clients,
    config,
    database,
    dataDir,
    grpc: `127.0.0.1:${grpcPort}`,
    /** Stops every process, runs `whileStopped` on the data, and starts them again. */
    async restart(whileStopped: () => Promise<void>) {
      await stop();
      await whileStopped();
      await start();
    },
    /** The lines of the log, from level warn on unless LOG_LEVEL is set. */
    logged,
    /** The log lines of faults, which no request should ever cause. */
    faults: () => logged.filter((line) => /"event":"(?:fault|uncaught)"/.test(line)),
    async close() {
      await stop();
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export type TestServer = Awaited<ReturnType<typeof startServer>>;

/** Test function with one server of these options for all tests of a file. */
export const testOn = (options: ServerOptions) =>
  // biome-ignore lint/correctness/noEmptyPattern: the runner reads from the pattern that the fixture needs no other.
  base.extend("server", { scope: "file" }, async ({}, { onCleanup }) => {
    const server = await startServer(options);
    onCleanup(() => server.close());
    return server;
  });

/** Test function with one server for all tests of a file. */
export const test = testOn({});
