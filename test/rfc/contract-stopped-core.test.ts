import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBalancer } from "../support/balancer.ts";
import { type Answer, serverDriver, type TestClient } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { aDirectory, endProcesses, named, pause, provisionFile, type ServiceProcess, startProcess, until } from "../support/processes.ts";

const { TEST_DATABASE_URL } = process.env;
const client = (clientId: string): TestClient => ({ clientId, secret: `${clientId}-secret`, redirectUri: "https://app.example.test/cb" });
const [WEB, WORKER] = [client("web"), client("worker")];
const FAMILIES = 24;

/** How a front reaches two cores: by a balancer of connections, or by a name with two addresses. */
type Reach = "balancer" | "name";
const NAME = "cores.example.test";

async function startWith(reach: Reach, database: TestDatabase) {
  const [port, ...grpc] = [String(await freePort()), String(await freePort()), String(await freePort())];
  const dataDir = aDirectory();
  const shared = {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    JWT_ISSUER: `http://localhost:${port}`,
    TOKEN_CORE_SECRET: "the secret of the fronts of this test",
    PROVISION_FILE: provisionFile(),
  };
  const hosts = ["127.0.0.1", reach === "name" ? "127.0.0.2" : "127.0.0.1"];
  const cores: ServiceProcess[] = [];
  for (const [n, GRPC_HOST] of hosts.entries())
    cores.push(await startProcess({ ...shared, GRPC_HOST, GRPC_PORT: grpc[reach === "name" ? 0 : n] ?? "" }, "core"));
  const balancer = reach === "balancer" ? await aBalancer(grpc.map(Number)) : undefined;
  const url = balancer === undefined ? `http://${NAME}:${grpc[0]}` : `http://127.0.0.1:${balancer.port}`;
  const front = await startProcess({ ...shared, PORT: port, TOKEN_CORE_URL: url, ...named(NAME, hosts) }, "front");
  return { ...serverDriver(front.url, join(dataDir, "outbox")), cores, balancer, front };
}
type Service = Awaited<ReturnType<typeof startWith>>;

/** Repeats a request after Retry-After seconds while the answer is 503. */
async function repeated(request: () => Promise<Answer>): Promise<{ answer: Answer; refused: number }> {
  for (let refused = 0; ; refused += 1) {
    const answer = await request();
    if (answer.status !== 503 || refused > 5) return { answer, refused };
    await pause(Number(answer.headers.get("retry-after")) * 1_000);
  }
}

const stoppedCore = (reach: Reach) => (): void => {
  let database: TestDatabase | undefined;
  let service: Service;
  let direct: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    if (database === undefined) throw new Error("TEST_DATABASE_URL is not set");
    service = await startWith(reach, database);
    direct = new pg.Client({ connectionString: database.url });
    await direct.connect();
  });
  afterAll(async () => {
    await direct?.end();
    service?.balancer?.close();
    await endProcesses();
    await database?.drop();
  });
  const count = async (event: string): Promise<number> =>
    (await direct.query("select count(*)::int as n from audit_records where event = $1", [event])).rows[0].n;
  const stopped = async (core: ServiceProcess, work: () => Promise<void>): Promise<void> => {
    core.child.kill("SIGSTOP");
    try {
      await work();
    } finally {
      core.child.kill("SIGCONT");
    }
  };
  const aToken = () => service.token(WORKER, { grant_type: "client_credentials", scope: "notes:read" });

  test("either core hangs: requests that are sent a second later return 200", async () => {
    for (const core of service.cores) {
      await stopped(core, async () => {
        await pause(1_200);
        const answers = await Promise.all(Array.from({ length: 20 }, aToken));
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
        expect((await service.get("/health")).status).toBe(200);
      });
    }
  });

  test("both cores hang: token requests return 503, and 200 again after the cores resume", async () => {
    const [one, two] = service.cores as [ServiceProcess, ServiceProcess];
    await stopped(one, () =>
      stopped(two, async () => {
        await pause(1_200);
        expect((await aToken()).status).toBe(503);
      }),
    );
    await until("a token", async () => (await aToken()).status === 200);
  });

  test("clients that repeat a refresh after Retry-After keep every family, and abandoned requests issue no token", async () => {
    const { browser } = await service.signedInUser();
    const families: string[] = [];
    for (let n = 0; n < FAMILIES; n += 1) families.push((await service.tokens(WEB, browser, { scope: "openid" })).refresh_token);
    let delayed = 0;
    for (const core of service.cores) {
      const [issued, replays] = [await count("token.issued"), await count("refresh_token.replayed")];
      await stopped(core, async () => {
        const answers = await Promise.all(families.map((token) => repeated(() => service.refresh(WEB, token))));
        expect(answers.map(({ answer }) => answer.status)).toEqual(answers.map(() => 200));
        delayed += answers.filter(({ refused }) => refused > 0).length;
        answers.forEach(({ answer }, n) => {
          families[n] = answer.body.refresh_token;
        });
      });
      await pause(1_500); // lets the core process the queued requests
      expect([await count("token.issued"), await count("refresh_token.replayed")]).toEqual([issued + FAMILIES, replays]);
    }
    expect(delayed).toBeGreaterThan(0); // the front was connected to one of the two
    const alive = await Promise.all(families.map((token) => service.refresh(WEB, token)));
    expect(alive.map(({ status }) => status)).toEqual(alive.map(() => 200));
  });
};

// Two cores need one PostgreSQL between them.
if (TEST_DATABASE_URL !== undefined) {
  describe("a hanging core behind a balancer of connections", { timeout: 120_000 }, stoppedCore("balancer"));
  describe("a hanging core of two behind one name", { timeout: 120_000 }, stoppedCore("name"));
}
