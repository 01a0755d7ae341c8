import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import pg from "pg";
import { afterAll, describe, expect, test, vi } from "vitest";
import { headerOf, serverDriver } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  aDirectory,
  countersign,
  endProcesses,
  pause,
  provisionFile,
  type ServiceProcess,
  startProcess,
  until,
} from "../support/processes.ts";

vi.setConfig({ testTimeout: 240_000 });

const AGENT = { clientId: "agent", secret: "agent-secret", redirectUri: "" };

/** Ids of the worker processes of a supervisor. */
const workersOf = (supervisor: ServiceProcess): readonly number[] => {
  const { pid = 0 } = supervisor.child;
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
};

/** Connects to a port again and again, and sends a request once it is open. */
function knocking(port: number) {
  const open = new Set<Promise<unknown>>();
  const one = async (): Promise<void> => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => socket.end("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"));
    socket.on("error", () => socket.destroy()).resume();
    await new Promise((resolve) => socket.once("close", resolve));
  };
  const timer = setInterval(() => {
    const attempt = one().finally(() => open.delete(attempt));
    open.add(attempt);
  }, 2);
  return {
    /** Waits until each connection was answered, refused or closed. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await until("the end of every early connection", async () => open.size === 0);
    },
  };
}

describe("two WORKERS", () => {
  let database: TestDatabase | undefined;
  afterAll(async () => {
    await endProcesses();
    await database?.drop();
  });

  test("share their ports, are replaced when they end or on SIGHUP without a failed request, and stop together", async () => {
    database = (await createTestDatabase()) ?? expect.fail("TEST_DATABASE_URL is not set");
    const env = { DATABASE_URL: database.url, REDIS_URL: process.env.TEST_REDIS_URL ?? expect.fail("TEST_REDIS_URL is not set") };
    const PORT = String(await freePort());
    const early = knocking(Number(PORT));
    const server = await startProcess({ ...env, PORT, WORKERS: "2", LOG_LEVEL: "info", PROVISION_FILE: provisionFile() });
    await early.stop();
    await until("two workers", async () => /workers_ready/.test(server.said()) && /Countersign is up/.test(server.said()));
    const before = workersOf(server);
    expect(before).toHaveLength(2);
    expect(server.said().match(/Countersign is up/g)).toHaveLength(1);

    // Each request on a connection of its own, so that the workers take turns: fetch would use one of the load again.
    const ask = (path: string) =>
      new Promise<{ readonly status: number | undefined; readonly body: string }>((resolve, reject) => {
        get(`${server.url}${path}`, { agent: false }, (response) => {
          text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
        }).once("error", reject);
      });
    for (let count = 0; count < 10; count++) expect((await ask("/.well-known/jwks.json")).status).toBe(200);
    const counted = async () => {
      const line = /^countersign_http_requests_total\{route="\/\.well-known\/jwks\.json",method="GET",status="200"\} (\d+)$/m;
      return Number(line.exec((await ask("/metrics")).body)?.[1]);
    };
    expect(await counted()).toBe(10);

    // Of these connections one is on its way to the stopped worker when it is killed.
    process.kill(before[0] ?? 0, "SIGSTOP");
    let settled = 0;
    const asked = Array.from({ length: 6 }, () =>
      ask("/.well-known/jwks.json")
        .then(
          ({ status }) => status,
          () => "closed",
        )
        .finally(() => (settled += 1)),
    );
    await until("the answers of the other worker", async () => settled === asked.length - 1);
    process.kill(before[0] ?? 0, "SIGKILL");
    expect((await Promise.all(asked)).sort()).toEqual([200, 200, 200, 200, 200, "closed"]);
    await until("a new worker", async () => workersOf(server).length === 2 && !workersOf(server).includes(before[0] ?? 0));
    expect(server.said()).toContain("worker_ended");

    const failures: unknown[] = [];
    let sent = 0;
    let reloading = true;
    const load = Array.from({ length: 4 }, async () => {
      while (reloading) {
        sent += 1;
        await fetch(`${server.url}/.well-known/jwks.json`, { signal: AbortSignal.timeout(10_000) })
          .then((response) => response.json())
          .catch((error: unknown) => failures.push(error));
        await pause(1);
      }
    });
    await until("both workers again", async () => (server.said().match(/"event":"started"/g) ?? []).length === 3);
    const replaced = workersOf(server);
    server.child.kill("SIGHUP");
    await until("the reload", async () => server.said().includes("workers_reloaded"));
    reloading = false;
    await Promise.all(load);
    expect(sent).toBeGreaterThan(100);
    expect(failures).toEqual([]);
    expect(workersOf(server).filter((pid) => replaced.includes(pid))).toEqual([]);

    // Some of these requests reach the worker that goes on.
    const leaving = workersOf(server);
    process.kill(leaving[0] ?? 0, "SIGSTOP");
    const incomplete = Array.from({ length: 4 }, () => ask("/metrics").then(({ status }) => status));
    expect(await Promise.race(incomplete)).toBe(503);
    process.kill(leaving[0] ?? 0, "SIGCONT");
    await Promise.allSettled(incomplete);

    server.child.kill("SIGINT");
    expect(await server.ended).toBe(0);
    expect(leaving.filter((pid) => isAlive(pid))).toEqual([]);
  });

  test("replace the signing key by its file and SIGHUP: the new key signs once it has been published for 300 s, and no request fails", async () => {
    const { url, drop } = (await createTestDatabase()) ?? expect.fail("TEST_DATABASE_URL is not set");
    const keyFile = join(aDirectory(), "key.pem");
    const writeKey = () =>
      writeFileSync(keyFile, generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    writeKey();
    const server = await startProcess({
      DATABASE_URL: url,
      REDIS_URL: process.env.TEST_REDIS_URL ?? expect.fail("TEST_REDIS_URL is not set"),
      WORKERS: "2",
      LOG_LEVEL: "info",
      PROVISION_FILE: provisionFile(),
      JWT_PRIVATE_KEY: `@${keyFile}`,
    });
    await until("two workers", async () => server.said().includes("workers_ready"));

    const [refused, kids]: [unknown[], string[]] = [[], []];
    const { token } = serverDriver(server.url, "");
    let asking = true;
    const asked = (async () => {
      while (asking) {
        const { status, body } = await token(AGENT, { grant_type: "client_credentials", scope: "crm:read" });
        if (status === 200) kids.push(headerOf(body.access_token).kid as string);
        else refused.push(body);
        await pause(20);
      }
    })();
    writeKey();
    server.child.kill("SIGHUP");
    await until("a worker that waits", async () => server.said().includes("signing_key_waits"));
    const atWait = kids.length;
    await until("further tokens", async () => kids.length > atWait + 100);
    expect([server.said().includes("workers_reloaded"), new Set(kids).size]).toEqual([false, 1]);

    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("update signing_keys set published_at = published_at - interval '300 s'");
    await client.end();
    await until("the reload", async () => server.said().includes("workers_reloaded"));
    asking = false;
    await asked;
    expect((await token(AGENT, { grant_type: "client_credentials", scope: "crm:read" })).status).toBe(200);
    expect(refused).toEqual([]);
    expect(new Set(kids).size).toBe(2);
    server.child.kill("SIGINT");
    expect(await server.ended).toBe(0);
    await drop();
  });

  test("of a front go on while a reload names a secret that the core refuses, until a further reload", async () => {
    const { url, drop } = (await createTestDatabase()) ?? expect.fail("TEST_DATABASE_URL is not set");
    const secretFile = join(aDirectory(), "secret");
    const good = "the secret of the fronts of this test";
    writeFileSync(secretFile, good);
    const shared = { DATABASE_URL: url, REDIS_URL: process.env.TEST_REDIS_URL ?? expect.fail("TEST_REDIS_URL is not set") };
    const core = await startProcess({ ...shared, TOKEN_CORE_SECRET: good, PROVISION_FILE: provisionFile() }, "core");
    const settings = { WORKERS: "2", LOG_LEVEL: "info", TOKEN_CORE_URL: `http://${core.grpc}`, TOKEN_CORE_SECRET: `@${secretFile}` };
    const front = await startProcess({ ...shared, ...settings }, "front");
    await until("two workers", async () => front.said().includes("workers_ready"));
    const serving = workersOf(front);
    const { token } = serverDriver(front.url, "");
    const answered = async () => (await token(AGENT, { grant_type: "client_credentials", scope: "crm:read" })).status;

    writeFileSync(secretFile, "another secret than that of the core");
    front.child.kill("SIGHUP");
    await until("a worker that waits", async () => front.said().includes("front_not_admitted"));
    expect([await answered(), await answered(), await answered()]).toEqual([200, 200, 200]);
    expect(workersOf(front)).toEqual(expect.arrayContaining([...serving]));

    writeFileSync(secretFile, good);
    front.child.kill("SIGHUP");
    await until("the reload", async () => front.said().includes("workers_reloaded"));
    expect(await answered()).toBe(200);
    expect(front.said()).not.toContain("reload_failed");
    expect(workersOf(front).filter((pid) => serving.includes(pid))).toEqual([]);
    for (const { child, ended } of [front, core]) {
      child.kill("SIGINT");
      expect(await ended).toBe(0);
    }
    await drop();
  });

  test("start though they are reloaded before they serve", async () => {
    const { url, drop } = (await createTestDatabase()) ?? expect.fail("TEST_DATABASE_URL is not set");
    // The signal comes when the supervisor looks whether its ports are free.
    const early = `import { Server } from "node:net";
      const { listen } = Server.prototype;
      Server.prototype.listen = function (...given) {
        if (process.channel === undefined) process.kill(process.pid, "SIGHUP");
        return listen.apply(this, given);
      };`;
    const env = { DATABASE_URL: url, REDIS_URL: process.env.TEST_REDIS_URL ?? "", WORKERS: "2", LOG_LEVEL: "info" };
    const server = await startProcess({ ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(early)}` });
    await until("both workers serve", async () => server.said().includes("workers_ready"));
    server.child.kill("SIGINT");
    expect(await server.ended).toBe(0);
    await drop();
  });

  test("are refused on the embedded database and without Redis, in one sentence each", async () => {
    const ports = { PORT: "39990", GRPC_PORT: "39991", WORKERS: "2" };
    expect(await countersign(["serve"], ports)).toEqual({
      code: 1,
      said: "WORKERS: is more than one on the embedded database, which one process alone can open; set DATABASE_URL, or WORKERS=1.\n",
    });
    expect(await countersign(["serve"], { ...ports, DATABASE_URL: "postgres://localhost/x" })).toEqual({
      code: 1,
      said: "WORKERS: is more than one without Redis, so that each worker would count rates on its own; set REDIS_URL, or WORKERS=1.\n",
    });
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
