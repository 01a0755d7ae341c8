import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freshDataDir } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { runInTerminal } from "../support/pseudo-terminal.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.close();
});

function inTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const home = mkdtempSync(join(tmpdir(), "countersign-home-"));
  const run = runInTerminal(args, { HOME: home, COUNTERSIGN_URL: server.url, ...env });
  onTestFinished(async () => {
    run.kill();
    await run.ended;
    rmSync(home, { recursive: true, force: true });
  });
  return run;
}

test("the log of a server in development is lines to be read, with the link of a mail; elsewhere it is JSON", async () => {
  const dataDir = await freshDataDir();
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const ports = { PORT: String(await freePort()), GRPC_PORT: String(await freePort()) };
  const run = inTerminal(["serve"], { DATA_DIR: dataDir, ...ports, LOG_LEVEL: "info" });
  await run.shows("started port=");
  expect(run.screen()).toMatch(/^\d\d:\d\d:\d\d info {2}started port=\d+$/m);
  const body = JSON.stringify({ email: "new@example.test", password: "correct horse battery" });
  const headers = { "content-type": "application/json" };
  await fetch(`http://localhost:${ports.PORT}/auth/register`, { method: "POST", headers, body });
  await run.shows("/auth/verify?token=");
  expect(run.screen()).toContain("mail_written");
});

test("login shows the prompts and the typed email address, but not the password", async () => {
  const run = inTerminal(["login"]);
  await run.shows("E-mail: ");
  run.type(OPERATOR.email);
  await run.shows("Password: ");
  expect(run.screen()).toContain(`E-mail: ${OPERATOR.email}`);
  run.type(OPERATOR.password);
  await run.shows(`signed in as ${OPERATOR.email}`);
  expect(run.screen()).not.toContain(OPERATOR.password);
  expect(run.screen().split("\n")).toEqual([`E-mail: ${OPERATOR.email}`, "Password: ", `signed in as ${OPERATOR.email}`]);
  expect(await run.ended).toBe(0);
});

test("a wrong password exits with 3 and a message", async () => {
  const run = inTerminal(["login"]);
  await run.shows("E-mail: ");
  run.type(OPERATOR.email);
  await run.shows("Password: ");
  run.type("not the password");
  expect(await run.ended).toBe(3);
  expect(run.screen()).toContain("Wrong e-mail address or password.");
});
