import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ActResult, aCrowd } from "../support/crowd.ts";
import { CROWD, seeded } from "../support/crowd-ways.ts";
import { serverDriver } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  aDataDirectory,
  aDirectory,
  cheapHashes,
  endProcesses,
  provisionFile,
  type ServiceProcess,
  startProcess,
  until,
} from "../support/processes.ts";
import { freshRedis } from "../support/redis.ts";

/** Low enough that a slow machine refuses no request for lack of capacity. Raise or vary the values to search by hand. */
const { CROWD_SEED = "1", CROWD_USERS = "6", CROWD_MOMENTS = "20", CROWD_ACTS = "12" } = process.env;
const { TEST_DATABASE_URL } = process.env;

/** Actions of which at least one has to succeed. */
const EXPECTED = [
  "authorize",
  "authorize, and redeem three times",
  "refresh",
  "exchange",
  "introspect",
  "register a client",
  "change the password",
  "sign out everywhere",
  "operator: disable and enable",
  "delete the account",
] as const;

interface Fleet {
  readonly processes: readonly ServiceProcess[];
  readonly fronts: readonly ServiceProcess[];
  readonly outbox: string;
}

/** One process on the embedded database. */
async function startAlone(): Promise<Fleet> {
  const [DATA_DIR, PROVISION_FILE] = [await aDataDirectory(), provisionFile(CROWD)];
  const alone = await startProcess({ DATA_DIR, PROVISION_FILE, ...cheapHashes() });
  return { processes: [alone], fronts: [alone], outbox: join(DATA_DIR, "outbox") };
}

/** Two fronts, each with a core of its own, on one PostgreSQL (and one Redis, where there is one). */
async function startFleet(url: string): Promise<Fleet> {
  const redis = await freshRedis();
  const [DATA_DIR, PROVISION_FILE] = [aDirectory(), provisionFile(CROWD)];
  const ports = await Promise.all(Array.from({ length: 4 }, freePort)).then((all) => all.map(String));
  const [port = "", otherPort = "", ...grpc] = ports;
  const shared = {
    DATABASE_URL: url,
    ...(redis !== undefined && { REDIS_URL: redis }),
    DATA_DIR,
    PROVISION_FILE,
    JWT_ISSUER: `http://localhost:${port}`,
    TOKEN_CORE_SECRET: "the secret of the fronts of this test",
    ...cheapHashes(),
  };
  const cores = grpc.map((GRPC_PORT) => startProcess({ ...shared, GRPC_PORT }, "core"));
  const fronts = await Promise.all(
    [port, otherPort].map((PORT, at) => startProcess({ ...shared, PORT, TOKEN_CORE_URL: `http://127.0.0.1:${grpc[at]}` }, "front")),
  );
  return { processes: [...fronts, ...(await Promise.all(cores))], fronts, outbox: join(DATA_DIR, "outbox") };
}

/** Runs one statement on a separate connection. */
async function ask<Row>(url: string, text: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client
    .query(text)
    .then(({ rows }) => rows as Row[])
    .finally(() => client.end());
}

/** Makes PostgreSQL look for deadlocks before the service times out, so that it also counts those that a retry would hide. */
const countDeadlocks = (url: string) => ask(url, `alter database "${new URL(url).pathname.slice(1)}" set deadlock_timeout = '50ms'`);

describe(`random concurrent requests of every kind, ${TEST_DATABASE_URL === undefined ? "in one process" : "on two fronts and two cores"}`, () => {
  let database: TestDatabase | undefined;
  let fleet: Fleet;
  const results: ActResult[] = [];
  const succeeded = () =>
    new Set<string>(results.filter(({ statuses }) => statuses.some((status) => status >= 200 && status < 300)).map(({ act }) => act));

  beforeAll(async () => {
    database = await createTestDatabase();
    if (database !== undefined) await countDeadlocks(database.url);
    fleet = database === undefined ? await startAlone() : await startFleet(database.url);
    const fronts = fleet.fronts.map(({ url }) => serverDriver(url, fleet.outbox));
    const crowd = aCrowd(fronts, seeded(Number(CROWD_SEED)));
    await crowd.operatorSignsIn();
    for (let users = 0; users < Number(CROWD_USERS); users += 2) results.push(...(await Promise.all([crowd.join(), crowd.join()])).flat());
    for (let moment = 0; moment < Number(CROWD_MOMENTS); moment += 1)
      results.push(...(await Promise.all([crowd.join(), crowd.moment(Number(CROWD_ACTS))])).flat());
    for (const at of fronts.keys()) results.push(await crowd.allow(at));
    // Tokens and sessions end all the time: chance can let every attempt of a kind fail.
    for (const act of EXPECTED) for (let left = 20; left > 0 && !succeeded().has(act); left -= 1) results.push(...(await crowd.alone(act)));
  }, 300_000);
  afterAll(async () => {
    await endProcesses();
    await database?.drop();
  });

  test("no request fails with 5xx or without a response", () => {
    expect(results.filter(({ statuses }) => statuses.some((status) => status >= 500 || status === 0))).toEqual([]);
  });

  if (TEST_DATABASE_URL !== undefined)
    test("PostgreSQL counts no deadlock", async () => {
      const url = database?.url ?? "";
      await endProcesses(); // a connection reports its statistics at its end at the latest
      const others = "select 1 as one from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
      await until("no connection is left", async () => (await ask(url, others)).length === 0);
      const statistics = "select deadlocks::text from pg_stat_database where datname = current_database()";
      expect(await ask<{ deadlocks: string }>(url, statistics)).toEqual([{ deadlocks: "0" }]);
    });

  test("no process logs a fault", () => {
    const lines = fleet.processes.flatMap(({ said }) => said().split("\n"));
    expect(lines.filter((line) => /fault|uncaught|"level":"?(error|50)/i.test(line))).toEqual([]);
  });

  test("no code and no refresh token is accepted twice", () => {
    expect(results.filter(({ taken = 0 }) => taken > 1)).toEqual([]);
  });

  test("at least one request of every kind succeeds, at the latest beside no other", () => {
    const allowed = fleet.fronts.map((_, at) => `allow at front ${at}`);
    expect(["sign up", ...allowed, ...EXPECTED].filter((act) => !succeeded().has(act))).toEqual([]);
  });
});
