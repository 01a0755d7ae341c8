import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBalancer } from "../support/balancer.ts";
import { type Answer, serverDriver, type TestClient } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { NGINX, nginxBefore } from "../support/nginx.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { aDirectory, endProcesses, pause, provisionFile, type ServiceProcess, startProcess, until } from "../support/processes.ts";

const { TEST_DATABASE_URL } = process.env;
const client = (clientId: string): TestClient => ({ clientId, secret: `${clientId}-secret`, redirectUri: "https://app.example.test/cb" });
const [WEB, WORKER] = [client("web"), client("worker")];
const FAMILIES = 24;

type Balance = (ports: readonly number[]) => Promise<{ readonly port: number; close(): unknown }>;

/** One front and two cores behind something that spreads connections or streams over them. */
async function startBehind(balance: Balance, database: TestDatabase) {
  const [port, ...grpc] = [String(await freePort()), String(await freePort()), String(await freePort())];
  const dataDir = aDirectory();
  const shared = {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    JWT_ISSUER: `http://localhost:${port}`,
    TOKEN_CORE_SECRET: "the secret of the fronts of this test",
    PROVISION_FILE: provisionFile(),
  };
  const cores = [];
  for (const GRPC_PORT of grpc) cores.push(await startProcess({ ...shared, GRPC_PORT }, "core"));
  const balancer = await balance(grpc.map(Number));
  const front = await startProcess({ ...shared, PORT: port, TOKEN_CORE_URL: `http://127.0.0.1:${balancer.port}` }, "front");
  return { ...serverDriver(front.url, join(dataDir, "outbox")), cores, balancer, front };
}
type Service = Awaited<ReturnType<typeof startBehind>>;

/** Repeats a request as the answer says: after the seconds of Retry-After, while the answer is 503. */
async function repeated(request: () => Promise<Answer>): Promise<{ answer: Answer; refused: number }> {
  for (let refused = 0; ; refused += 1) {
    const answer = await request();
    if (answer.status !== 503 || refused > 5) return { answer, refused };
    await pause(Number(answer.headers.get("retry-after")) * 1_000);
  }
}

const stoppedCore = (balance: Balance) => (): void => {
  let database: TestDatabase | undefined;
  let its: Service;
  let direct: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    if (database === undefined) throw new Error("TEST_DATABASE_URL is not set");
    its = await startBehind(balance, database);
    direct = new pg.Client({ connectionString: database.url });
    await direct.connect();
  });
  afterAll(async () => {
    await direct?.end();
    await its?.balancer.close();
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
  const aToken = () => its.token(WORKER, { grant_type: "client_credentials", scope: "notes:read" });

  test("whichever core hangs, requests that begin a second later succeed at once", async () => {
    for (const core of its.cores) {
      await stopped(core, async () => {
        await pause(1_200);
        const answers = await Promise.all(Array.from({ length: 20 }, aToken));
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
        expect((await its.get("/health")).status).toBe(200);
      });
    }
  });

  test("both hang: 503, and 200 again soon after one of them goes on", async () => {
    const [one, two] = its.cores as [ServiceProcess, ServiceProcess];
    await stopped(one, () =>
      stopped(two, async () => {
        await pause(1_200);
        expect((await aToken()).status).toBe(503);
      }),
    );
    await until("a token", async () => (await aToken()).status === 200);
  });

  test("clients that repeat as the answer says lose no refresh family, and what was given up leaves no row", async () => {
    const { browser } = await its.signedInUser();
    const families: string[] = [];
    for (let n = 0; n < FAMILIES; n += 1) families.push((await its.tokens(WEB, browser, { scope: "openid" })).refresh_token);
    let held = 0;
    for (const core of its.cores) {
      const [issued, replays] = [await count("token.issued"), await count("refresh_token.replayed")];
      await stopped(core, async () => {
        const answers = await Promise.all(families.map((token) => repeated(() => its.refresh(WEB, token))));
        expect(answers.map(({ answer }) => answer.status)).toEqual(answers.map(() => 200));
        held += answers.filter(({ refused }) => refused > 0).length;
        answers.forEach(({ answer }, n) => {
          families[n] = answer.body.refresh_token;
        });
      });
      await pause(1_500); // the core reads what lay before it
      expect([await count("token.issued"), await count("refresh_token.replayed")]).toEqual([issued + FAMILIES, replays]);
    }
    expect(held).toBeGreaterThan(0); // one of the two was the core that the front asked
    const alive = await Promise.all(families.map((token) => its.refresh(WEB, token)));
    expect(alive.map(({ status }) => status)).toEqual(alive.map(() => 200));
  });
};

// Two cores need one PostgreSQL between them.
if (TEST_DATABASE_URL !== undefined) {
  describe("a core that hangs, behind a balancer of connections", { timeout: 120_000 }, stoppedCore(aBalancer));
  describe.skipIf(NGINX === undefined)("a core that hangs, behind deploy/cores.conf", { timeout: 120_000 }, stoppedCore(nginxBefore));
}
