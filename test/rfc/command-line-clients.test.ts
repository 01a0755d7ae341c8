import { afterAll, beforeAll, expect, test } from "vitest";
import { registerClientCommands } from "../../src/cli/clients.ts";
import { registerExportCommand } from "../../src/cli/export.ts";
import { registerUserCommands } from "../../src/cli/users.ts";
import { operatorAt } from "../support/admin.ts";
import { runText } from "../support/database.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { aTerminal, type TestTerminal } from "../support/terminal.ts";

let server: TestServer;
let at: TestTerminal;
beforeAll(async () => {
  server = await startServer();
  at = aTerminal({ serverUrl: server.url, ...OPERATOR });
});
afterAll(async () => {
  at.leave();
  await server.close();
});

const run = (...words: readonly string[]) => at.run([registerClientCommands, registerUserCommands, registerExportCommand], words);
const JOB = { grantTypes: ["client_credentials" as const], scopes: ["pay:read"] };

test("scopes are added and removed one by one or several in one option, as --scope takes them", async () => {
  const { clients } = await operatorAt(server.url);
  const { id, clientId } = await clients.create.mutate({ ...JOB, name: "Job" });
  const update = (...words: readonly string[]) => run("clients", "update", clientId, "--operator", ...words);
  const scopesNow = async () => (await clients.get.query({ id })).scopes;
  expect((await update("--add-scope", "pay:write pay:list", "--add-scope", "pay:new")).code).toBe(0);
  expect(await scopesNow()).toEqual(["pay:read", "pay:write", "pay:list", "pay:new"]);
  expect((await update("--remove-scope", "pay:read pay:new")).code).toBe(0);
  expect(await scopesNow()).toEqual(["pay:write", "pay:list"]);
  const unknown = await update("--remove-scope", "pay:list pay:lost", "--add-scope", "pay:more");
  expect([unknown.code, unknown.err]).toEqual([1, "--remove-scope: the client has no scope pay:lost.\n"]);
  for (const fault of ['pay:"all"', "x".repeat(257)])
    await expect(update("--add-scope", `pay:more ${fault}`)).rejects.toThrow(/^error: option '--add-scope <scope>' .* must be scopes/);
  expect(await scopesNow()).toEqual(["pay:write", "pay:list"]);
});

test("more clients than the server counts are so many and more, of a user who is disabled and in an export", async () => {
  const operator = await operatorAt(server.url);
  const { id: ownerId } = await operator.users.create.mutate({ email: "busy@example.test", password: "a password for one test" });
  const { id } = await operator.clients.create.mutate({ ...JOB, name: "Owned", ownerId });
  // In parts that take a crowded machine less than the two seconds that a statement has.
  for (let from = 0; from < 12_000; from += 500)
    await runText(
      server.database.sql,
      `insert into clients select (jsonb_populate_record(clients, jsonb_build_object('id', gen_random_uuid(), 'client_id', 'many-' || n, 'origin', 'dynamic'))).*
       from clients, generate_series($2::int + 1, $2::int + 500) as n where clients.id = $1::uuid`,
      [id, from],
    );
  const { err } = await run("users", "disable", "busy@example.test");
  expect(err).toContain("Clients that this user manages go on (more than 10,000), with secrets that the user may know");
  const file = await run("export");
  expect(file.err).toContain("Left out: clients that registered themselves (more than 10,000).");
  expect(JSON.parse(file.out).clients.map(({ clientId }: { clientId: string }) => clientId)).not.toContain("many-1");
});
