import { expect, test } from "vitest";
import {
  clientSnippets,
  fastMcpProvider,
  frameworkFile,
  guardFile,
  mcpFile,
  serverSnippets,
} from "../../../console/src/routes/resources/snippets.ts";
import { blocksOf } from "../../support/documents.ts";

// The programs of these documents are run by test/interop; what the console shows is the same text with the values of a resource.

const README = blocksOf("guard-sdk/README.md");
const codeOf = (blocks: typeof README, name: string): string => blocks.find((block) => block.name === name)?.code ?? "";

const NOTES = {
  issuer: "https://auth.example",
  resource: "https://notes.example/mcp",
  name: "Notes",
  scopes: ["notes:read", "notes:write"],
};

test("guard.js is that of the guard's README", () => {
  expect(guardFile(NOTES)).toBe(codeOf(README, "guard.js"));
});

test("the MCP server is that of the guard's README", () => {
  expect(mcpFile(NOTES)).toBe(codeOf(README, "mcp-server.js"));
});

test("servers listen where a resource over http says, and an MCP server at its path, with a tool that needs no further scope where there is none", () => {
  const here = { ...NOTES, resource: "http://localhost:4300/tools", scopes: ["notes:read"] };
  expect(mcpFile(here)).toContain('app.all("/tools", ');
  expect(mcpFile(here)).toContain("app.listen(4300)");
  expect(mcpFile(here)).not.toContain("toolScopes");
  expect(frameworkFile("Fastify", here)).toContain("app.listen({ port: 4300 })");
});

test.for([
  ["Express", "express.js"],
  ["Koa", "koa.js"],
  ["Fastify", "fastify.js"],
  ["Hono", "hono.js"],
  ["node:http", "node.js"],
] as const)("the lines for %s are those of the guard's README", ([framework, file]) => {
  const run = codeOf(README, file);
  const lines = frameworkFile(framework, NOTES).split("\n");
  // node:http has one handler in place of two.
  expect(lines.filter((line) => !run.includes(line) && !line.startsWith("createServer"))).toEqual([]);
  expect(lines.length).toBeGreaterThan(5);
});

test("the lines for FastMCP are those of its document", () => {
  const local = { ...NOTES, issuer: "http://localhost:3000", resource: "http://localhost:8000/mcp" };
  const run = blocksOf("docs/servers/fastmcp.md").find(({ name }) => name === "server.py")?.code ?? "";
  expect(run).toContain(fastMcpProvider(local));
});

test("the commands and files for clients are those of their documents", () => {
  const [claude, vscode, cursor] = clientSnippets({ ...NOTES, resource: "http://localhost:4000/mcp" }).map(({ code }) => code);
  expect(blocksOf("docs/clients/claude.md").map(({ code }) => code)).toContain(claude);
  const jsonOf = (path: string) => JSON.parse(blocksOf(path).find(({ language }) => language === "json")?.code ?? "");
  expect(JSON.parse(vscode ?? "")).toEqual(jsonOf("docs/clients/vscode.md"));
  expect(JSON.parse(cursor ?? "")).toEqual(jsonOf("docs/clients/cursor.md"));
});

test("the command for Go is that of its example, without its credentials", () => {
  const [go] = serverSnippets({ ...NOTES, issuer: "http://localhost:3000", resource: "http://127.0.0.1:4100" }).filter(
    ({ id }) => id === "go",
  );
  expect(blocksOf("examples/go-resource-server/README.md").map(({ code }) => code)).toContain(
    go?.code.replace("$client_id", "notes-job").replace("$client_secret", "only-for-trying-out-on-your-own-machine"),
  );
});

test("values of strangers stay values", () => {
  const hostile = { ...NOTES, resource: "https://x.example/'$(id)'", name: `"; rm -rf / #`, scopes: [`a"b`, "c\\d"] };
  expect(clientSnippets(hostile)[0]?.code).toBe(`claude mcp add --transport http rm-rf 'https://x.example/'\\''$(id)'\\'''\n`);
  expect(guardFile(hostile)).toContain(`scopes: ["a\\"b"]`);
});
