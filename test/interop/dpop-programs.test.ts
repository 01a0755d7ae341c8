import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { createGuard } from "@countersign/guard";
import { protect } from "@countersign/guard/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksOf } from "../support/documents.ts";
import { freePort } from "../support/free-port.ts";
import { scratch } from "../support/packed.ts";
import { pythonCommands } from "../support/python.ts";
import { PROVISIONED, startServer } from "../support/server.ts";

const run = promisify(execFile);
const python = await pythonCommands();
const go = await run("go", ["version"]).then(
  () => "go",
  () => undefined,
);
const port = await freePort();
const API = `http://localhost:${port}/notes`;
const job = {
  clientId: "notes-job",
  clientSecret: "notes-job-secret",
  name: "Notes job",
  tokenEndpointAuthMethod: "client_secret_basic",
  grantTypes: ["client_credentials"],
  scopes: ["notes:read"],
  audience: [API],
  dpopBoundAccessTokens: true,
};

let server: Awaited<ReturnType<typeof startServer>>;
const { dir, remove } = scratch();
const api = createServer();
/** A server and an API that both require bound tokens and nonces. */
beforeAll(async () => {
  const provision = { ...PROVISIONED, clients: [...PROVISIONED.clients, job] };
  server = await startServer({ env: { DPOP_NONCE: "on" }, provision });
  const guard = createGuard({ resource: API, authorizationServers: [server.url], dpop: "required", dpopNonce: true });
  api.on(
    "request",
    protect(guard, (_, response, { clientId, jkt }) => response.end(`${clientId} ${jkt?.length}`)),
  );
  await new Promise<void>((resolve) => api.listen(port, resolve));
});
afterAll(async () => {
  api.close();
  await server?.close();
  remove();
});

const PROGRAMS = [
  { language: "Python", file: "dpop_client.py", command: python && [join(python, "python")] },
  { language: "Go", file: "dpop_client.go", command: go && [go, "run"] },
];
for (const { language, file, command } of PROGRAMS)
  test.skipIf(command === undefined)(
    command === undefined ? `missing toolchain: ${language}` : `the ${language} program of docs/dpop.md calls an API with a bound token`,
    async () => {
      const { code = "" } = blocksOf("docs/dpop.md").find(({ name }) => name === file) ?? {};
      writeFileSync(join(dir, file), code);
      const [program = "", ...args] = command ?? [];
      const env = { ...process.env, ISSUER: server.url, API, CLIENT_ID: job.clientId, CLIENT_SECRET: job.clientSecret };
      const { stdout } = await run(program, [...args, join(dir, file)], { env });
      expect(stdout.trim()).toBe("DPoP notes-job 43");
    },
  );
