import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freshDataDir } from "../support/data-directory.ts";
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

test("a development server logs readable lines in a terminal, with the link of a mail", async () => {
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

const OPERATOR_ENV = { COUNTERSIGN_EMAIL: OPERATOR.email, COUNTERSIGN_PASSWORD: OPERATOR.password };

test("what cannot be undone is asked about first, and --yes answers", async () => {
  const create = inTerminal(
    ["clients", "create", "Doomed", "--client-id", "doomed", "--operator", "--grant", "client_credentials"],
    OPERATOR_ENV,
  );
  await create.shows("Keep the clientSecret now: it is shown only this once.");
  expect(await create.ended).toBe(0);

  const kept = inTerminal(["clients", "delete", "doomed", "--operator"], OPERATOR_ENV);
  await kept.shows("This cannot be undone. Go on? [y/N]");
  kept.type("");
  expect(await kept.ended).toBe(1);
  expect(kept.screen()).toContain("Nothing was changed.");

  const asked = inTerminal(["clients", "delete", "doomed", "--operator"], OPERATOR_ENV);
  await asked.shows("Go on? [y/N]");
  asked.type("y");
  await asked.shows("deleted ");
  expect(await asked.ended).toBe(0);

  const gone = inTerminal(["clients", "delete", "doomed", "--operator", "--yes"], OPERATOR_ENV);
  expect(await gone.ended).toBe(4);
  expect(gone.screen()).toBe(`Not found at ${server.url}: doomed.`);
});

test.for([
  { args: ["clients", "delete", "web", "--operator"], question: "Go on? [y/N]" },
  { args: ["users", "create", "new@example.test"], question: "Password of the new account:" },
])('Ctrl-C at the question "$question" ends the command as a signal does', async ({ args, question }) => {
  const run = inTerminal(args, OPERATOR_ENV);
  await run.shows(question);
  run.interrupt();
  expect(await run.ended).toBe(130);
  expect(run.screen().trim().endsWith(question)).toBe(true);
});

test("an empty list says what to do next", async () => {
  const run = inTerminal(["delegations", "list"], OPERATOR_ENV);
  expect(await run.ended).toBe(0);
  expect(run.screen()).toContain("No agent acts for a user.");
});

test("findings are coloured, unless NO_COLOR is set", async () => {
  const coloured = inTerminal(["doctor", server.url]);
  await coloured.ended;
  expect(coloured.colours()).toBe(true);
  const plain = inTerminal(["doctor", server.url], { NO_COLOR: "1" });
  await plain.ended;
  expect(plain.screen()).toContain("ok      offers PKCE with S256");
  expect(plain.colours()).toBe(false);
});

test("keys generate writes a new file that only its user can read, and never overwrites one", async () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-keys-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "key.pem");
  const made = inTerminal(["keys", "generate", "--out", file]);
  expect(await made.ended).toBe(0);
  for (const taken of ["JWT_PRIVATE_KEY=@", "--jwks @"]) expect(made.screen().replaceAll("\n", "")).toContain(`${taken}${file}`);
  const pem = readFileSync(file, "utf8");
  expect([statSync(file).mode & 0o777, pem.match(/BEGIN \w+ KEY/g)]).toEqual([0o600, ["BEGIN PRIVATE KEY", "BEGIN PUBLIC KEY"]]);
  const again = inTerminal(["keys", "generate", "--out", file]);
  expect(await again.ended).toBe(1);
  expect(again.screen()).toContain("a key is never overwritten");
  expect(readFileSync(file, "utf8")).toBe(pem);
  const astray = inTerminal(["keys", "generate", "--out", join(directory, "nowhere/key.pem")]);
  expect([await astray.ended, astray.screen().replaceAll("\n", "")]).toEqual([
    1,
    expect.stringContaining("is in a folder that does not exist."),
  ]);
});
