import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { serverDriver } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { privateCa } from "../support/private-ca.ts";
import { aDirectory, endProcesses, pause, provisionFile, type ServiceProcess, startProcess, until } from "../support/processes.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const AGENT = { clientId: "agent", secret: "agent-secret", redirectUri: "" };
const ASKED = { grant_type: "client_credentials", scope: "crm:read" };

/** Files of a core and its fronts, as settings name them. A file is replaced at once. */
function files() {
  const directory = aDirectory();
  const write = (name: string, text: string): void => {
    writeFileSync(join(directory, `${name}.new`), text, { mode: 0o600 });
    renameSync(join(directory, `${name}.new`), join(directory, name));
  };
  const pair = (name: string, { cert, key }: { readonly cert: string; readonly key: string }): void => {
    write(`${name}.pem`, cert);
    write(`${name}.key`, key);
  };
  return { write, pair, at: (name: string) => `@${join(directory, name)}` };
}

const reloads = ({ said }: ServiceProcess): number => said().split("workers_reloaded").length - 1;

/** Replaces the workers, which read their files again. */
async function reload(server: ServiceProcess): Promise<void> {
  const before = reloads(server);
  server.child.kill("SIGHUP");
  await until(`the reload: ${server.said().slice(-2_000)}`, async () => reloads(server) > before);
}

describe("a core and a front with WORKERS and mutual TLS", () => {
  let database: TestDatabase | undefined;
  let core: ServiceProcess;
  let front: ServiceProcess;
  let load: ReturnType<typeof loading>;
  const { write, pair, at } = files();
  const [first, second] = [privateCa(), privateCa()];

  /** Requests of several callers until it is stopped: those that were not answered as they have to be. A token that was revoked stays so. */
  function loading(revoked: string) {
    const { token, introspect } = serverDriver(front.url, "");
    const failures: unknown[] = [];
    let [answered, going] = [0, true];
    const one = async (): Promise<void> => {
      const issued = await token(AGENT, ASKED);
      if (issued.status !== 200) failures.push([issued.status, issued.body]);
      // An introspection has one second: on a busy machine it may be refused.
      const { status, body } = await introspect(AGENT, revoked);
      if (status !== 503 && (status !== 200 || body.active !== false)) failures.push([status, body]);
      answered += 1;
    };
    const callers = Array.from({ length: 2 }, async () => {
      while (going) {
        await one().catch((error: unknown) => failures.push(error));
        await pause(30);
      }
    });
    return {
      failures,
      async further(): Promise<void> {
        const before = answered;
        await until("further answers", async () => answered > before + 8);
      },
      async stop(): Promise<void> {
        going = false;
        await Promise.all(callers);
      },
    };
  }

  beforeAll(async () => {
    database = (await createTestDatabase()) ?? expect.fail("TEST_DATABASE_URL is not set");
    const shared = {
      DATABASE_URL: database.url,
      REDIS_URL: process.env.TEST_REDIS_URL ?? expect.fail("TEST_REDIS_URL is not set"),
      WORKERS: "2",
      LOG_LEVEL: "info",
    };
    pair("core", first.serverFor("localhost"));
    pair("front", first.serverFor("front"));
    for (const name of ["core-ca.pem", "front-ca.pem"]) write(name, first.certificatePem);
    const GRPC_PORT = String(await freePort());
    const tls = { GRPC_TLS_CERT: at("core.pem"), GRPC_TLS_KEY: at("core.key"), GRPC_TLS_CLIENT_CA: at("front-ca.pem") };
    core = await startProcess({ ...shared, ...tls, GRPC_PORT, PROVISION_FILE: provisionFile() }, "core");
    const shown = { TOKEN_CORE_TLS_CERT: at("front.pem"), TOKEN_CORE_TLS_KEY: at("front.key"), TOKEN_CORE_CA: at("core-ca.pem") };
    front = await startProcess({ ...shared, ...shown, TOKEN_CORE_URL: `https://localhost:${GRPC_PORT}` }, "front");
    for (const server of [core, front]) await until("two workers", async () => server.said().includes("workers_ready"));
    const { token, revoke } = serverDriver(front.url, "");
    const { body } = await token(AGENT, ASKED);
    await revoke(AGENT, body.access_token);
    load = loading(body.access_token);
  });
  afterAll(async () => {
    await load?.stop();
    await endProcesses();
    await database?.drop();
  });

  /** Lets a server have what is in the files now. */
  const renewed = async (server: ServiceProcess): Promise<void> => {
    await reload(server);
    await load.further();
    expect(load.failures).toEqual([]);
  };

  test("renew them by reloads, from another authority too while both are trusted, without a failed request", async () => {
    await load.further();
    pair("core", first.serverFor("localhost"));
    for (const name of ["core-ca.pem", "front-ca.pem"]) write(name, first.certificatePem + second.certificatePem);
    for (const server of [core, front]) await renewed(server);
    pair("core", second.serverFor("localhost"));
    pair("front", second.serverFor("front"));
    for (const server of [core, front]) await renewed(server);
    for (const name of ["core-ca.pem", "front-ca.pem"]) write(name, second.certificatePem);
    for (const server of [front, core]) await renewed(server);
  });

  test.for(["core", "front"] as const)("serve on while the certificate of the %s does not belong to its key, and say so", async (name) => {
    const server = name === "core" ? core : front;
    const next = second.serverFor(name === "core" ? "localhost" : "front");
    write(`${name}.key`, next.key);
    server.child.kill("SIGHUP");
    await until("the failed reload", async () => server.said().includes("reload_failed"));
    const setting = name === "core" ? "GRPC_TLS_KEY" : "TOKEN_CORE_TLS_KEY";
    expect(server.said()).toContain(`${setting}: is not the key of ${setting.replace("KEY", "CERT")}`);
    await load.further();
    expect(load.failures).toEqual([]);
    write(`${name}.pem`, next.cert);
    await renewed(server);
  });

  test("serve on while a reloaded front is not admitted, or does not trust the core, until a further reload", async () => {
    const stranger = privateCa();
    pair("front", stranger.serverFor("front"));
    front.child.kill("SIGHUP");
    await until("a worker that is refused", async () => front.said().includes("front_not_admitted"));
    await load.further();
    pair("front", second.serverFor("front"));
    write("core-ca.pem", stranger.certificatePem);
    front.child.kill("SIGHUP");
    await until("a worker that refuses", async () => /"core_unavailable","code":"[a-z -]*certificate/.test(front.said()));
    await load.further();
    write("core-ca.pem", second.certificatePem);
    await renewed(front);
  });
});
