import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { blocksOf, commandsOf } from "../support/documents.ts";
import { OPERATOR, startServer } from "../support/server.ts";
import { runAll } from "../support/shell.ts";

const DOCUMENT = "docs/operating.md";
const COMMAND = join(import.meta.dirname, "../../bin/countersign");
const MOVED = "https://notes.example.com/mcp";

test("an operator does what docs/operating.md says", async () => {
  const server = await startServer();
  const folder = mkdtempSync(join(tmpdir(), "countersign-operating-"));
  onTestFinished(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const program = join(folder, "countersign");
  writeFileSync(program, `#!/bin/sh\nexec "${COMMAND}" "$@"\n`);
  chmodSync(program, 0o755);
  const credentials = { COUNTERSIGN_EMAIL: OPERATOR.email, COUNTERSIGN_PASSWORD: OPERATOR.password };
  const env = { PATH: `${folder}:${process.env.PATH}`, COUNTERSIGN_URL: server.url, XDG_CONFIG_HOME: folder, ...credentials };

  const { users, clients, resources, sessions } = await operatorAt(server.url);
  const [ada] = await Promise.all(
    ["ada", "bob"].map((name) => users.create.mutate({ email: `${name}@example.com`, password: "a password for one test" })),
  );
  const made = { grantTypes: ["client_credentials" as const], scopes: ["notes:read"] };
  for (const clientId of ["crm-agent", "billing", "indexer"])
    await clients.create.mutate({ ...made, clientId, name: clientId, isAgent: true, ownerId: ada?.id ?? "" });
  await resources.create.mutate({ resource: MOVED, name: "Notes" });

  const sections = [...new Set(blocksOf(DOCUMENT).map(({ section }) => section))];
  const done = new Set<string>();
  for (const section of sections) {
    // Not those that need what is not here: jq, an authenticator app, a public resource, and the request that was refused.
    const isRun = (command: string) => !/ jq | --remove-app|^countersign (?:resources add|realms remove|explain)/.test(command);
    const commands = commandsOf(DOCUMENT, section).filter(isRun);
    await runAll(commands, folder, env);
    for (const command of commands) done.add(command);
  }
  expect(done.size).toBeGreaterThan(12);
  const { users: disabled } = await users.list.query({ search: "ada@", enabled: false });
  expect(disabled).toHaveLength(1);
  expect((await sessions.list.query({ userId: ada?.id ?? "" })).sessions).toEqual([]);
  const changed = await clients.list.query({ search: "crm-agent" });
  expect(changed.clients[0]).toMatchObject({ scopes: ["notes:read", "notes:export"], ownerId: expect.not.stringMatching(`^${ada?.id}$`) });
  expect((await clients.list.query({ search: "indexer" })).clients[0]?.audience).toEqual([MOVED, "https://notes.example.com/v2/mcp"]);
  expect((await resources.get.query({ resource: MOVED })).enabled).toBe(false);
});
