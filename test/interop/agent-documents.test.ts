import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type NotesServer, startNotesServer } from "../../examples/mcp-server/server.ts";
import { blocksOf, filled } from "../support/documents.ts";
import { freePort } from "../support/free-port.ts";
import { packed, scratch, unpack } from "../support/packed.ts";
import { until } from "../support/processes.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";
import { kubernetes, type Platform, SERVICE_ACCOUNT } from "../support/workloads.ts";

const { dir, remove } = scratch();
const port = await freePort();
const NOTES = `http://localhost:${port}/mcp`;
const TOKEN_FILE = join(dir, "token");
const NEXT_ACCOUNT = "system:serviceaccount:agents:next";
const NEXT_TOKEN_FILE = join(dir, "next-token");
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

let cluster: Platform;
let server: TestServer;
let notes: NotesServer;
beforeAll(async () => {
  [cluster] = await Promise.all([
    kubernetes(),
    unpack(dir, { "@countersign/agent": await packed("agent-sdk") }, ["@modelcontextprotocol/client"]),
  ]);
  const summary = {
    clientId: "summary-agent",
    name: "Summary agent",
    scopes: ["notes:read"],
    grantTypes: ["client_credentials", TOKEN_EXCHANGE],
    tokenEndpointAuthMethod: "workload_jwt",
    workloadIdentities: [{ issuer: cluster.issuer, subject: SERVICE_ACCOUNT }],
    audience: [NOTES],
    isAgent: true,
  };
  const next = {
    ...summary,
    clientId: "next-agent",
    name: "Next agent",
    workloadIdentities: [{ issuer: cluster.issuer, subject: NEXT_ACCOUNT }],
  };
  const app = PROVISIONED.clients.find(({ clientId }) => clientId === "public-app");
  server = await startServer({
    provision: {
      ...PROVISIONED,
      workloadIssuers: [{ issuer: cluster.issuer, kind: "kubernetes", allowPrivate: true }],
      clients: [...PROVISIONED.clients, summary, next, { ...app, clientId: "notes-app", name: "Notes app" }],
    },
  });
  notes = await startNotesServer({ issuer: server.url, port, dpop: "accepted" });
  writeFileSync(TOKEN_FILE, cluster.token([server.url]));
  writeFileSync(NEXT_TOKEN_FILE, cluster.token([server.url], { sub: NEXT_ACCOUNT }));
});
afterAll(async () => {
  await notes.close();
  await server.close();
  await cluster.close();
  remove();
});

/** The programs of a document as a reader writes them down, with local addresses. @returns their folder */
function written(document: string, more: Readonly<Record<string, string>> = {}, folder = document): string {
  const project = join(dir, folder.replaceAll(/\W/g, "-"));
  mkdirSync(project, { recursive: true });
  for (const { name, code } of blocksOf(document)) {
    if (name === undefined) continue;
    const here = { "https://auth.example": server.url, "/var/run/secrets/tokens/countersign": TOKEN_FILE, ...more };
    const present = Object.entries(here).filter(([from]) => code.includes(from));
    writeFileSync(join(project, name), filled(code, Object.fromEntries(present)));
  }
  return project;
}

/** Runs a program. @returns what it prints, so far and in the end */
function run(cwd: string, program: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program], { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  return { said: () => said, ended: new Promise<string>((resolve) => child.on("close", () => resolve(said))) };
}

test("the program of the README calls a resource server in the agent's own name", async () => {
  const project = written("agent-sdk/README.md", { "https://notes.example/notes": NOTES });
  expect(await run(project, "own.js").ended).toMatch(/^(?:200|40[056]|415) /); // it passed the guard, and is no MCP request
});

test("the programs of docs/agent.md act in the agent's own name, for a user, and for the user who signs in", async () => {
  const callback = await freePort();
  const project = written("docs/agent.md", { "https://notes.example/mcp": NOTES, "9876": `${callback}` });
  const { browser, id } = await server.signedInUser();
  const { access_token: USER_TOKEN } = await server.tokens(server.clients.web, browser, {
    scope: "notes:read",
    resource: [NOTES, "summary-agent"],
  });
  const [own, forUser, signIn] = [run(project, "own.js"), run(project, "for-user.js", { USER_TOKEN }), run(project, "sign-in.js")];
  expect(await own.ended).toMatch(/^4(?:00|06|15) DPoP\n$/);
  const said = await forUser.ended;
  expect([said, said.includes(id)]).toEqual([expect.stringContaining('"actors":["summary-agent"]'), true]);
  await until("the program shows the page to open", async () => /^open http/m.test(signIn.said()));
  const page = await browser.follow(/^open (http\S+)$/m.exec(signIn.said())?.[1] ?? "");
  await fetch((await browser.submit(page, { decision: "approve" })).url);
  expect(await signIn.ended).toMatch(/\nnotes:read\n$/);
});

test.for(["agent({", 'agent({ dpop: "required",'])(
  "a chain of two agents acts for a user by the programs of docs/agent.md, with %s",
  async (options) => {
    const first = written("docs/agent.md", { "agent({": options }, `first ${options}`);
    const others = {
      "https://notes.example/mcp": NOTES,
      "summary-agent": "next-agent",
      "/var/run/secrets/tokens/countersign": NEXT_TOKEN_FILE,
    };
    const next = written("docs/agent.md", others, "next");
    const { browser } = await server.signedInUser();
    const { access_token: USER_TOKEN } = await server.tokens(server.clients.web, browser, {
      scope: "notes:read",
      resource: [NOTES, "summary-agent", "next-agent"],
    });
    const handed = (await run(first, "hand-on.js", { USER_TOKEN }).ended).trim();
    expect(decodeJwt(handed).cnf === undefined).toBe(options === "agent({");
    expect(await run(next, "for-user.js", { USER_TOKEN: handed }).ended).toContain('"actors":["next-agent","summary-agent"]');
  },
);
