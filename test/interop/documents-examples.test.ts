import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentHost } from "../support/agent-host.ts";
import { blocksOf, commandsOf, filled } from "../support/documents.ts";
import { type ServerDriver, serverDriver } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { approve } from "../support/mcp-hosts.ts";
import { packed, scratch, unpack } from "../support/packed.ts";
import { until } from "../support/processes.ts";
import { runAll } from "../support/shell.ts";

const root = join(import.meta.dirname, "../..");
const { dir, remove } = scratch();
const groups = new Set<number>();
const [port, apiPort, notesPort, ownPort] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
const url = `http://localhost:${port}`;
const notes = `http://localhost:${notesPort}/mcp`;

/** Starts a command of a document, and waits for what it prints when it is ready. @returns all that it prints */
async function start(command: string | undefined, ready: RegExp, env: Record<string, string>, cwd = root): Promise<() => string> {
  const settings = { ...process.env, NODE_ENV: "development", XDG_CONFIG_HOME: dir, COUNTERSIGN_URL: url, ISSUER: url, ...env };
  const child = spawn(command ?? "false", { cwd, shell: true, detached: true, env: settings, stdio: ["ignore", "pipe", "pipe"] });
  groups.add(child.pid ?? 0);
  child.on("exit", () => groups.delete(child.pid ?? 0));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  await until(`${command} is ready`, async () => ready.test(said)).catch(() => expect.fail(said));
  return () => said;
}

let driver: ServerDriver;
beforeAll(async () => {
  const [command] = commandsOf("docs/getting-started.md", "getting-started");
  await start(command, /Countersign is up/, { PORT: `${port}`, GRPC_PORT: `${await freePort()}`, DATA_DIR: join(dir, "data") });
  driver = serverDriver(url, join(dir, "data/outbox"));
});
afterAll(() => {
  for (const group of groups) process.kill(-group, "SIGKILL");
  remove();
});

test("the commands of docs/getting-started.md get a token for a service, and call the guarded API with it", async () => {
  const service = commandsOf("docs/getting-started.md", "a-token-for-a-service", { "http://localhost:3000": url });
  const [startApi, call = ""] = commandsOf("docs/getting-started.md", "an-api-guarded", { "127.0.0.1:4100": `127.0.0.1:${apiPort}` });
  await start(startApi, /GET \/me/, { PORT: `${apiPort}`, RESOURCE: "http://127.0.0.1:4100" });
  const printed = await runAll([...service, "echo", call], root);
  const [introspected = "", called = ""] = printed.split("\n");
  expect(JSON.parse(introspected)).toMatchObject({ active: true, client_id: "notes-job", aud: "http://127.0.0.1:4100" });
  expect(JSON.parse(called)).toEqual({ owner: "notes-job", text: "buy milk" });
});

test("the three commands of docs/agents.md let an agent act for a user", async () => {
  const three = commandsOf("docs/agents.md", "an-agent-that-is-handed-a-task", { "http://localhost:4000/mcp": notes });
  expect(three).toHaveLength(3);
  expect(three[0]).toBe(commandsOf("docs/getting-started.md", "getting-started")[0]); // runs
  await start(three[1], /listens on/, { PORT: `${notesPort}` });
  const { browser, id } = await driver.signedInUser();
  const said = await start(three[2], /^http\S+$/m, { RESOURCE: notes });
  await fetch(await approve(browser, /^http\S+$/m.exec(said())?.[0] ?? ""));
  await until(`the agent has acted: ${said()}`, async () => said().includes("actors"));
  const printed = said()
    .split("\n")
    .find((line) => line.startsWith("{"));
  expect(JSON.parse(printed ?? "")).toEqual({ user: id, actors: ["summary-agent"], notes: 0, longest: 0 });
});

test("the project of docs/servers/typescript.md is guarded, found and reached by an MCP client", async () => {
  const document = "docs/servers/typescript.md";
  const setUp = commandsOf(document, "a-project");
  const packages = setUp.filter((line) => line.startsWith("npm install")).flatMap((line) => line.split(" ").slice(2));
  expect(packages.at(-1)).toMatch(/countersign-guard-[\d.]+\.tgz$/);
  await runAll(
    setUp.filter((line) => !line.startsWith("npm install")),
    dir,
  );
  const project = join(dir, "notes");
  await unpack(project, { "@countersign/guard": await packed("guard-sdk") }, ["jose", ...packages.slice(0, -1)]);
  const here = { "http://localhost:3000": url, "localhost:4000": `localhost:${ownPort}`, "listen(4000)": `listen(${ownPort})` };
  const shown = blocksOf(document).find(({ name }) => name === "server.js")?.code ?? "";
  writeFileSync(join(project, "server.js"), `${filled(shown, here)}console.log("ready");\n`);
  const [serve] = commandsOf(document, "the-server");
  await start(serve, /ready/, {}, project);
  const resource = `http://localhost:${ownPort}/mcp`;
  const host = agentHost();
  const { browser } = await driver.signedInUser();
  const transport = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider: host.provider });
  const authorize = async (refused: StreamableHTTPClientTransport) =>
    refused.finishAuth(new URL(await approve(browser, host.opened.at(-1)?.href ?? "")).searchParams);
  const [first, second] = [transport(), transport()];
  const named = { name: "documents", version: "1" };
  await expect(new Client(named).connect(first)).rejects.toThrow(UnauthorizedError);
  await authorize(first);
  const client = new Client(named);
  await client.connect(second);
  const addNote = () => client.callTool({ name: "add_note", arguments: { text: "buy milk" } });
  await expect(addNote()).rejects.toThrow(UnauthorizedError);
  await authorize(second);
  expect((await addNote()).content).toEqual([{ type: "text", text: "noted" }]);
  const listed = await client.callTool({ name: "list_notes", arguments: {} });
  expect(listed.content).toEqual([{ type: "text", text: '["buy milk"]' }]);
  await client.close();
  const doctor = commandsOf(document, "reach-it", { "http://localhost:4000/mcp": resource });
  expect(await runAll(doctor, root)).toContain("0 faults, 0 warnings");
});
