import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client, InsufficientScopeError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, describe, expect, onTestFinished } from "vitest";
import { clientSnippets, serverSnippets } from "../../console/src/routes/resources/snippets.ts";
import { freePort } from "../support/free-port.ts";
import { anIssuerKey, listen, signToken } from "../support/guard-issuer.ts";
import { packed, scratch, unpack } from "../support/packed.ts";
import { PROVISIONED, type TestServer, testOn } from "../support/server.ts";
import { runAll } from "../support/shell.ts";

const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "guard-sdk/README.md"), "utf8");
const BLOCK = /^```(\w+)\n(?:\/\/ (\S+)\n)?([\s\S]*?)^```$/gm;
const blocks = [...readme.matchAll(BLOCK)].map(([, language = "", name, code = ""]) => ({ language, name, code }));
const programs = blocks.filter(({ language }) => language === "js" || language === "ts");
/** The guard of the README's first page, and its alternatives further down. */
const [plain, ...alternatives] = programs.filter(({ name }) => name === "guard.js").map(({ code }) => code);
const servers = programs.flatMap(({ name, code }) => (name === undefined || name === "guard.js" ? [] : [{ name, code }]));
const provision = JSON.parse(blocks.find(({ language }) => language === "json")?.code ?? "");
const NOTES_API_SECRET: string = provision.clients[0].clientSecret;

const test = testOn({
  env: { HYBRID_SIGNING_ENABLED: "true" },
  provision: { ...PROVISIONED, clients: [...PROVISIONED.clients, ...provision.clients] },
});

const { dir, remove } = scratch();
afterAll(remove);
const frameworks = [
  "express",
  "koa",
  "@koa/router",
  "fastify",
  "hono",
  "zod",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/node",
];
await unpack(dir, { "@countersign/guard": await packed("guard-sdk") }, ["jose", ...frameworks, "@grpc/grpc-js", "@bufbuild/protobuf"]);

const MCP = "https://notes.example/mcp";
const API = "https://notes.example";

/** Writes the README's files as a reader would, with local addresses, and runs them. @returns their origin */
async function start(
  { name, code }: { readonly name: string; readonly code: string },
  guard: string,
  { url, grpc }: Pick<TestServer, "url" | "grpc">,
): Promise<string> {
  const port = await freePort();
  const project = join(dir, `project-${port}`);
  mkdirSync(project);
  const here = (text: string) =>
    text.replaceAll("https://auth.example:3001", `http://${grpc}`).replaceAll("https://auth.example", url).replaceAll("4000", `${port}`);
  writeFileSync(join(project, name), here(code));
  writeFileSync(join(project, "guard.js"), here(guard));
  const isModule = code.includes("export default");
  const args = isModule ? [join(root, "test/runtimes/serve-fetch.mjs"), join(project, name), `${port}`] : [name];
  const child: ChildProcess = spawn(process.execPath, args, { cwd: project, env: { ...process.env, NOTES_API_SECRET }, stdio: "inherit" });
  onTestFinished(async () => {
    if (child.kill("SIGKILL") && child.exitCode === null) await once(child, "exit");
  });
  const origin = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    const answered = await fetch(origin).then(
      () => true,
      () => false,
    );
    if (answered) return origin;
    await setTimeout(50);
  }
}

const tokensFor = async ({ signedInUser, tokens, clients }: TestServer, resource: string) => {
  const { browser, id } = await signedInUser();
  const tokenFor = async (scope: string): Promise<string> => (await tokens(clients.web, browser, { scope, resource })).access_token;
  return { id, reader: await tokenFor("notes:read"), writer: await tokenFor("notes:read notes:write"), other: await tokenFor("openid") };
};

/** Asserts the answers of a README API to callers with and without the right scopes. */
async function expectNotesApi(origin: string, server: TestServer, resource: string): Promise<void> {
  const { id, reader, writer, other } = await tokensFor(server, resource);
  const call = async (method: string, token?: string) => {
    const response = await fetch(`${origin}/notes`, { method, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
    const challenge = response.headers.get("www-authenticate");
    return [response.status, challenge === null ? JSON.parse(await response.text()) : /scope="([^"]*)"/.exec(challenge)?.[1]];
  };
  expect(await call("GET")).toEqual([401, "notes:read"]);
  expect(await call("GET", reader)).toEqual([200, { owner: id }]);
  expect(await call("GET", other)).toEqual([403, "notes:read"]);
  expect(await call("POST", reader)).toEqual([403, "notes:read notes:write"]);
  expect(await call("POST", writer)).toEqual([201, { writtenBy: "web" }]);
  const document = await fetch(`${origin}/.well-known/oauth-protected-resource`);
  expect(await document.json()).toMatchObject({ resource, authorization_servers: [server.url] });
}

test("every program of the README has a name and is run by a test below", () => {
  expect(programs.map(({ name }) => name)).toEqual(programs.map(() => expect.stringMatching(/^[a-z-]+\.js$/)));
  expect(servers.map(({ name }) => name)).toEqual([
    "mcp-server.js",
    "express.js",
    "koa.js",
    "fastify.js",
    "hono.js",
    "node.js",
    "fetch.js",
  ]);
  expect(alternatives.map((code) => /verification: (\w+)/.exec(code)?.[1])).toEqual([
    "introspection",
    "grpcIntrospection",
    "localWithRevocations",
    "requireHybrid",
  ]);
});

/** What the console shows for a resource, in its Connect tab. */
const SHOWN = {
  issuer: "https://auth.example",
  resource: "http://localhost:4000/notes",
  name: "Notes",
  scopes: ["notes:read", "notes:write"],
};
const forClients = (resource: string) => new Map(clientSnippets({ ...SHOWN, resource }).map(({ id, code }) => [id, code] as const));

/** The addresses that Claude Code, VS Code and Cursor have from there. */
async function addressesIn(resource: string): Promise<readonly string[]> {
  const shown = forClients(resource);
  const given = await runAll(['claude() { echo "$6"; }', shown.get("claude") ?? ""], root);
  const [code, cursor] = [JSON.parse(shown.get("vscode") ?? ""), JSON.parse(shown.get("cursor") ?? "")];
  return [given.trim(), code.servers.notes.url, cursor.mcpServers.notes.url];
}

test("the MCP server of the README works unchanged, at the address that the console shows for clients", async ({ server }) => {
  const origin = await start(servers[0]!, plain!, server);
  const { id, reader, writer } = await tokensFor(server, MCP);
  const [fromClaude, ...others] = await addressesIn(`${origin}/mcp`);
  expect(others).toEqual([fromClaude, fromClaude]);
  const connect = async (token: string) => {
    const client = new Client({ name: "reader", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(fromClaude ?? ""), { authProvider: { token: async () => token } }));
    onTestFinished(() => client.close());
    return client;
  };
  const call = { name: "add_note", arguments: { text: "buy milk" } };
  expect((await (await connect(writer)).callTool(call)).content).toEqual([{ type: "text", text: `noted for ${id}: buy milk` }]);
  const refusal = await (await connect(reader)).callTool(call).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(InsufficientScopeError);
  expect((refusal as InsufficientScopeError).requiredScope).toBe("notes:read notes:write");
  expect((await fetch(`${origin}/mcp`)).headers.get("www-authenticate")).toContain('scope="notes:read"');
  expect((await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`)).status).toBe(200);
});

describe("the APIs of the README work unchanged", () => {
  test.for(servers.slice(1))("$name", async (program, { server }) => {
    const origin = await start(program, plain!.replace(MCP, API), server);
    await expectNotesApi(origin, server, API);
  });

  test.for(alternatives.map((code) => [/verification: (\w+)/.exec(code)?.[1] ?? "", code] as const))(
    "with the verification %s",
    async ([, guard], { server }) => {
      const origin = await start(servers.find(({ name }) => name === "express.js")!, guard, server);
      await expectNotesApi(origin, server, MCP);
    },
  );
});

test("the guard of the README that requires both signatures answers 503 while introspection hangs", async () => {
  const key = await anIssuerKey("first");
  const issuer = await listen(
    createServer(({ url }, response) => {
      const jwks_uri = `${issuer.origin}/keys`;
      if (url === "/.well-known/oauth-authorization-server") response.end(JSON.stringify({ issuer: issuer.origin, jwks_uri }));
      else if (url === "/keys") response.end(JSON.stringify({ keys: [key.jwk] }));
    }),
  );
  onTestFinished(issuer.close);
  const hybrid = alternatives.find((code) => code.includes("requireHybrid"))!;
  const origin = await start(servers.find(({ name }) => name === "express.js")!, hybrid, { url: issuer.origin, grpc: "localhost:1" });
  const token = await signToken(issuer.origin, MCP, key, { header: { pqc_alg: "ML-DSA-65", pqc_kid: "second" } });
  const signal = AbortSignal.timeout(20_000);
  const { status } = await fetch(`${origin}/notes`, { headers: { authorization: `Bearer ${token}` }, signal });
  expect(status).toBe(503);
});

describe("what the console shows for a resource works unchanged", () => {
  const [guard, ...files] = serverSnippets(SHOWN);
  const frameworks = files.filter(({ id, code }) => id !== "mcp" && code.includes("@countersign/guard/"));

  test("the frameworks are those below", () => {
    expect(frameworks.map(({ id }) => id)).toEqual(["Express", "Koa", "Fastify", "Hono", "node:http"]);
  });

  test.for(frameworks)("$label, called by the command for curl", async ({ id, code }, { server }) => {
    const origin = await start({ name: `${id.replace(":", "-")}.js`, code }, guard?.code ?? "", server);
    const resource = `${origin.replace("127.0.0.1", "localhost")}/notes`;
    const { id: owner, reader, other } = await tokensFor(server, resource);
    const shown = forClients(resource);
    const call = (token: string) => runAll([shown.get("curl") ?? ""], root, { token });
    expect(await call(reader)).toMatch(new RegExp(`^HTTP/1.1 200 [\\s\\S]*{"owner":"${owner}"}`));
    expect(await call(other)).toMatch(/^HTTP\/1.1 403 [\s\S]*error="insufficient_scope"/);
    expect(await call("unknown")).toMatch(/^HTTP\/1.1 401 [\s\S]*error="invalid_token"/);
    if (id === "Express") expect(await runAll([shown.get("doctor") ?? ""], root)).toContain("0 faults");
  });
});
