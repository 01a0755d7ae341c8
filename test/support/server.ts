import { rmSync } from "node:fs";
import { join } from "node:path";
import { test as base, describe } from "vitest";
import { compose, type Running } from "../../src/compose.ts";
import { loadConfig } from "../../src/config.ts";
import { parseProvisionFile } from "../../src/management/provision.ts";
import { openDatabase } from "../../src/store/orm.ts";
import { aDataDir, freshDataDir } from "./database.ts";
import { serverDriver, type TestClient } from "./flow.ts";
import { freePort } from "./free-port.ts";
import { createTestDatabase } from "./postgres.ts";
import { freshRedis } from "./redis.ts";

export { describe };

const REDIRECT = "https://app.example.test/cb";
const USER_GRANTS = ["authorization_code", "refresh_token"];
const SCOPES = ["openid", "profile", "email", "offline_access", "notes:read", "notes:write"];

/** Clients of every kind that the tests use. */
const CLIENTS = [
  { clientId: "web", clientSecret: "web-secret", grantTypes: USER_GRANTS, scopes: SCOPES, redirectUris: [REDIRECT] },
  { clientId: "other", clientSecret: "other-secret", grantTypes: USER_GRANTS, scopes: SCOPES, redirectUris: [REDIRECT] },
  { clientId: "one-shot", clientSecret: "one-shot-secret", grantTypes: ["authorization_code"], scopes: SCOPES, redirectUris: [REDIRECT] },
  {
    clientId: "public-app",
    tokenEndpointAuthMethod: "none",
    grantTypes: USER_GRANTS,
    scopes: SCOPES,
    redirectUris: [REDIRECT, "http://127.0.0.1/cb"],
    environment: "development",
  },
  { clientId: "worker", clientSecret: "worker-secret", grantTypes: ["client_credentials"], scopes: ["openid", "notes:read"] },
  {
    clientId: "poster",
    clientSecret: "poster-secret",
    grantTypes: ["client_credentials"],
    scopes: ["notes:read"],
    tokenEndpointAuthMethod: "client_secret_post",
  },
  { clientId: "disabled", clientSecret: "disabled-secret", grantTypes: ["client_credentials"], scopes: ["notes:read"], enabled: false },
  { clientId: "urn:example:client 1", clientSecret: "s%:+ /", grantTypes: ["client_credentials"], scopes: ["notes:read"] },
  {
    clientId: "agent",
    clientSecret: "agent-secret",
    grantTypes: ["client_credentials"],
    scopes: ["crm:read"],
    audience: ["https://crm.example.test/mcp", "https://mail.example.test/mcp"],
  },
].map((client) => ({ name: client.clientId, tokenEndpointAuthMethod: "client_secret_basic", environment: "production", ...client }));

/** The credentials of the operator of the tests. */
export const OPERATOR = { email: "operator@example.test", password: "operator password 1" };

export const PROVISIONED = {
  users: [{ ...OPERATOR, emailVerified: true, firstName: "Olga", role: "operator" }],
  clients: CLIENTS,
} as const;

const client = (clientId: string): TestClient => {
  const secret = CLIENTS.find((each) => each.clientId === clientId)?.clientSecret;
  return { clientId, redirectUri: REDIRECT, ...(secret !== undefined && { secret }) };
};

const clients = {
  web: client("web"),
  other: client("other"),
  oneShot: client("one-shot"),
  publicApp: client("public-app"),
  worker: client("worker"),
  poster: client("poster"),
  disabled: client("disabled"),
  urn: client("urn:example:client 1"),
  agent: client("agent"),
};

export type Shape = "one" | "split";

/** The lowest cost that argon2 accepts. test/unit/accounts/password-hash.test.ts checks the production cost. */
const LOW_COST = { memoryCost: 8, timeCost: 1, parallelism: 1 };

export interface ServerOptions {
  readonly env?: Record<string, string>;
  /** One process, or front and core that communicate over gRPC. */
  readonly shape?: Shape;
  readonly provision?: object;
}

/**
 * A whole server on free loopback ports with a database of its own: embedded, or PostgreSQL (and Redis) where TEST_DATABASE_URL (and
 * TEST_REDIS_URL) are set. In the split shape front and core share one database and communicate over gRPC.
 */
export async function startServer({
  env = {},
  shape = (process.env.TEST_SHAPE as Shape | undefined) ?? "one",
  provision = PROVISIONED,
}: ServerOptions = {}) {
  const plan = parseProvisionFile(JSON.stringify(provision));
  const [postgres, redisUrl] = [await createTestDatabase(), await freshRedis()];
  const dataDir = postgres === undefined ? await freshDataDir() : aDataDir();
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
    ...(postgres && { DATABASE_URL: postgres.url }),
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    ...env,
  };
  const config =
    shape === "split" ? loadConfig({ ...settings, TOKEN_CORE_URL: `http://127.0.0.1:${grpcPort}` }, "front") : loadConfig(settings);
  const database = await openDatabase(config.databaseUrl === undefined ? { dir: dataDir } : { url: config.databaseUrl });
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
      await postgres?.drop();
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
