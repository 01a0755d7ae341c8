import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import { afterAll, expect, test } from "vitest";
import { privateCa } from "../../support/private-ca.ts";
import { aDataDirectory, endProcesses, startProcess } from "../../support/processes.ts";

afterAll(endProcesses);

const ask = async (...[what, env]: [string, Record<string, string>]) => {
  const child = spawn(process.execPath, ["deploy/health.ts", what], { env: { ...process.env, ...env }, stdio: "ignore" });
  const [code] = await once(child, "exit");
  return code;
};

test.for([
  [200, 0],
  [503, 1],
] as const)("the check of a front that returns %i exits with %i", async ([status, code]) => {
  const server = createServer((request, response) => response.writeHead(request.url === "/health" ? status : 404).end("{}"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const env = { PORT: String((server.address() as AddressInfo).port) };
  await expect.poll(() => ask("http", env)).toBe(code); // a check on a busy machine may give up before it is answered
  server.close();
});

const { cert, key } = privateCa().serverFor("core.example.test");
const withTls = grpc.ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(cert), private_key: Buffer.from(key) }]);

test.for([
  ["SERVING", 0, "in the clear", grpc.ServerCredentials.createInsecure(), {}],
  ["NOT_SERVING", 1, "in the clear", grpc.ServerCredentials.createInsecure(), {}],
  ["SERVING", 0, "with TLS", withTls, { GRPC_TLS_CERT: cert }],
] as const)("the check of a core that reports %s exits with %i, %s", async ([status, code, _, credentials, env]) => {
  const server = new grpc.Server();
  new HealthImplementation({ "": status }).addToServer(server);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  await expect.poll(() => ask("grpc", { GRPC_PORT: String(port), ...env })).toBe(code);
  server.forceShutdown();
});

test("without a response, the check exits with 1", async () => {
  expect([await ask("http", { PORT: "1" }), await ask("grpc", { GRPC_PORT: "1" })]).toEqual([1, 1]);
});

test("both checks of a process exit with 0, that of gRPC once the service behind it is loaded", async () => {
  const { url, grpc: address } = await startProcess({ NODE_ENV: "development", DATA_DIR: await aDataDirectory() });
  const env = { PORT: new URL(url).port, GRPC_PORT: new URL(`http://${address}`).port };
  await expect.poll(() => ask("http", env)).toBe(0);
  await expect.poll(() => ask("grpc", env)).toBe(0);
});
