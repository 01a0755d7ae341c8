import { Agent, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { basicAuth } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { NGINX, nginxBefore } from "../support/nginx.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { aDirectory, endProcesses, named, pause, provisionFile, type ServiceProcess, startProcess } from "../support/processes.ts";

const { TEST_DATABASE_URL } = process.env;
const NAME = "cores.example.test";
const HOSTS = ["127.0.0.1", "127.0.0.2"];
/** Requests per second. */
const RATE = 100;

/** Sends token requests at a constant rate until it is stopped. @returns the answers that were not 200 */
function load(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const body = "grant_type=client_credentials&scope=notes:read";
  const headers = { authorization: basicAuth("worker", "worker-secret"), "content-type": "application/x-www-form-urlencoded" };
  const refused: string[] = [];
  const open = new Set<Promise<void>>();
  const one = () =>
    new Promise<void>((resolve) => {
      const began = new Date().toISOString();
      const settle = (answer: string) => {
        if (answer !== "200") refused.push(`${began} ${answer}`);
        resolve();
      };
      const sent = request({ host: "127.0.0.1", port, path: "/oauth/token", method: "POST", headers, agent }, (response) => {
        response.resume().on("end", () => settle(`${response.statusCode}`));
      });
      sent.on("error", (error) => settle(error.message)).end(body);
    });
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
    const call = one().finally(() => open.delete(call));
    open.add(call);
  }, 1_000 / RATE);
  return async () => {
    clearInterval(timer);
    await Promise.all(open);
    agent.destroy();
    return { count, refused };
  };
}

if (TEST_DATABASE_URL !== undefined)
  describe.skipIf(NGINX === undefined)(
    "a rolling restart of two fronts and two cores behind deploy/proxy.conf",
    { timeout: 180_000 },
    () => {
      let database: TestDatabase | undefined;
      let nginx: Awaited<ReturnType<typeof nginxBefore>> | undefined;
      const running: { process: ServiceProcess; again: () => Promise<ServiceProcess> }[] = [];
      const port = freePort();
      beforeAll(async () => {
        database = await createTestDatabase();
        const [first, second, GRPC_PORT] = [await freePort(), await freePort(), String(await freePort())];
        const shared = {
          DATABASE_URL: `${database?.url}`,
          DATA_DIR: aDirectory(),
          JWT_ISSUER: `http://localhost:${await port}`,
          TOKEN_CORE_SECRET: "the secret of the fronts of this test",
          TRUST_PROXY: "true",
          PROVISION_FILE: provisionFile(),
        };
        const core = (GRPC_HOST: string) => () => startProcess({ ...shared, GRPC_HOST, GRPC_PORT }, "core");
        const TOKEN_CORE_URL = `http://${NAME}:${GRPC_PORT}`;
        const front = (own: number) => () => startProcess({ ...shared, PORT: String(own), TOKEN_CORE_URL, ...named(NAME, HOSTS) }, "front");
        for (const again of [...HOSTS.map(core), front(first), front(second)]) running.push({ process: await again(), again });
        nginx = await nginxBefore(
          [first, second].map((own) => `localhost:${own}`),
          HOSTS.map((host) => `${host}:${GRPC_PORT}`),
          await port,
        );
      });
      afterAll(async () => {
        await nginx?.close();
        await endProcesses();
        await database?.drop();
      });

      test("fails no request", async () => {
        const stop = load(await port);
        await pause(500);
        for (const one of running) {
          one.process.child.kill("SIGTERM");
          expect(await one.process.ended).toBe(0);
          one.process = await one.again();
          await pause(1_000);
        }
        const { count, refused } = await stop();
        expect(refused).toEqual([]);
        expect(count).toBeGreaterThan(20 * RATE);
      });
    },
  );
