import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { auth, Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { afterAll, describe, expect, onTestFinished } from "vitest";
import { fastMcpProvider } from "../../console/src/routes/resources/snippets.ts";
import { startNotesServer } from "../../examples/mcp-server/server.ts";
import { agentHost } from "../support/agent-host.ts";
import { blocksOf, filled } from "../support/documents.ts";
import { aProof, proofKey } from "../support/dpop.ts";
import { basicAuth } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { approve, documents, NO_SCOPE_OF_A_RESOURCE, recordOf, scopesOf } from "../support/mcp-hosts.ts";
import { scratch } from "../support/packed.ts";
import { until } from "../support/processes.ts";
import { pythonCommands } from "../support/python.ts";
import { PROVISIONED, type TestServer, testOn } from "../support/server.ts";

const python = await pythonCommands();
const PORTS = { notes: await freePort(), fastmcp: await freePort(), sdk: await freePort() };
const resourceAt = (port: number) => `http://localhost:${port}/mcp`;
const test = testOn({
  env: NO_SCOPE_OF_A_RESOURCE,
  provision: { ...PROVISIONED, resources: Object.values(PORTS).map((port) => recordOf(resourceAt(port))) },
});
const when = (title: string) => (python === undefined ? "missing toolchain: Python" : title);

const site = await documents();
const { dir, remove } = scratch();
afterAll(async () => {
  remove();
  await site.close();
});

/** The programs of a document, by their file names. */
const programsOf = (document: string) =>
  new Map(blocksOf(document).flatMap(({ name, code }) => (name === undefined ? [] : [[name, code] as const])));

/** Runs one of these programs. What it opens in a browser is printed instead. */
function run(
  programs: ReadonlyMap<string, string>,
  ...args: readonly string[]
): ChildProcessByStdio<null, Readable, Readable> & { said(): string } {
  const cwd = join(dir, `${Math.random()}`);
  mkdirSync(cwd);
  for (const [name, code] of programs) writeFileSync(join(cwd, name), code);
  const env = { PATH: process.env.PATH, HOME: cwd, BROWSER: "echo opened %s", PYTHONUNBUFFERED: "1" };
  const child = spawn(join(python ?? "", "python"), args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk));
  return Object.assign(child, { said: () => text });
}

const CLIENTS = [
  { name: "FastMCP's client", file: "fastmcp_client.py", redirectUri: "http://localhost/callback" },
  { name: "the Python SDK's client", file: "mcp_client.py", redirectUri: "http://127.0.0.1/callback" },
].flatMap(({ name, file, redirectUri }) => [
  { name, file, kind: "registers itself", document: undefined },
  { name, file, kind: "has a metadata document", document: site.of(file.replace(".", "-"), redirectUri) },
]);

describe.for(CLIENTS)("$name of docs/clients/sdk.md, which $kind", ({ file, document }) => {
  test.skipIf(python === undefined)(when("signs in, calls a tool, and steps up"), async ({ server }) => {
    const notes = await startNotesServer({ issuer: server.url, port: PORTS.notes });
    onTestFinished(notes.close);
    const { browser } = await server.signedInUser();
    const program = run(programsOf("docs/clients/sdk.md"), file, notes.resource, ...(document === undefined ? [] : [document]));
    const exited = once(program, "exit");
    const opened = () => [...program.said().matchAll(/^opened (\S+)$/gm)].map(([, url = ""]) => url);
    for (const times of [1, 2]) {
      await until(`the browser is opened: ${program.said()}`, async () => opened().length === times);
      const answer = await approve(browser, opened().at(-1) ?? "");
      // The program opens the browser before it listens.
      await expect.poll(() => fetch(answer).then(({ ok }) => ok), { timeout: 10_000 }).toBe(true);
    }
    expect([(await exited)[0], program.said()]).toEqual([0, expect.stringContaining('"added":"buy milk"')]);
    const scopes = opened().map((url) => new URL(url).searchParams.get("scope")?.split(" "));
    expect([scopes[0]?.includes("notes:write"), scopes[1]?.includes("notes:write")]).toEqual([false, true]);
    expect(new URL(opened()[0] ?? "").searchParams.get("client_id") === document).toBe(document !== undefined);
  });
});

/** The values that the documents have. */
const AS_DOCUMENTED = {
  ...{ issuer: "http://localhost:3000", resource: "http://localhost:8000/mcp" },
  ...{ name: "Notes", scopes: ["notes:read", "notes:write"] },
};

/** Starts the server of a document at a port, and waits until it answers. @param provider its part that the console shows, filled in */
async function startServer({ document, port, provider }: (typeof SERVERS)[number], { url }: TestServer): Promise<void> {
  const here = { "http://localhost:3000": url, "localhost:8000": `localhost:${port}`, "port=8000": `port=${port}` };
  const programs = programsOf(document);
  const shown = Object.fromEntries(
    provider === undefined ? [] : [[provider(AS_DOCUMENTED), provider({ ...AS_DOCUMENTED, issuer: url, resource: resourceAt(port) })]],
  );
  const code = filled(filled(programs.get("server.py") ?? "", shown), provider === undefined ? here : { "port=8000": `port=${port}` });
  const program = run(programs.set("server.py", code), "server.py");
  const answers = async () => (await fetch(resourceAt(port))).status === 401;
  await until("the server answers", answers).catch(() => expect.fail(program.said()));
}

const SERVERS = [
  {
    name: "FastMCP's server",
    document: "docs/servers/fastmcp.md",
    port: PORTS.fastmcp,
    challenges: true,
    refusesBound: false,
    provider: fastMcpProvider,
  },
  {
    name: "the Python SDK's server",
    document: "docs/servers/python.md",
    port: PORTS.sdk,
    challenges: false,
    refusesBound: true,
    provider: undefined,
  },
];

describe.for(SERVERS)("$name of $document", (one) => {
  const { port, challenges, refusesBound } = one;
  test.skipIf(python === undefined)(when("accepts tokens for itself, and its tools the scopes that they need"), async ({ server }) => {
    await startServer(one, server);
    const resource = resourceAt(port);
    for (const metadata of [undefined, site.of(`host-${port}`, "http://127.0.0.1/callback")]) {
      const host = agentHost(metadata);
      const { browser } = await server.signedInUser();
      const transport = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider: host.provider });
      const authorize = async (refused: StreamableHTTPClientTransport) =>
        refused.finishAuth(new URL(await approve(browser, host.opened.at(-1)?.href ?? "")).searchParams);
      const client = () => new Client({ name: "interop", version: "1" });

      const first = transport();
      await expect(client().connect(first)).rejects.toThrow(UnauthorizedError);
      await authorize(first);
      expect(scopesOf(host.stored.tokens?.access_token)).toContain("notes:read");

      const reader = client();
      const second = transport();
      await reader.connect(second);
      const refused = await reader.callTool({ name: "add_note", arguments: { text: "buy milk" } }).catch((error: unknown) => error);
      if (challenges) {
        expect(refused).toBeInstanceOf(UnauthorizedError);
        await authorize(second);
      } else {
        expect(JSON.stringify(refused)).toContain("this needs notes:write");
        expect(await auth(host.provider, { serverUrl: resource, scope: "notes:read notes:write", forceReauthorization: true })).toBe(
          "REDIRECT",
        );
        await authorize(transport());
      }
      await reader.close();
      const writer = client();
      await writer.connect(transport());
      expect((await writer.callTool({ name: "add_note", arguments: { text: "buy milk" } })).isError).not.toBe(true);
      expect(JSON.stringify(await writer.callTool({ name: "list_notes", arguments: {} }))).toContain("buy milk");
      await writer.close();
    }
    const { browser } = await server.signedInUser();
    const { access_token: foreign } = await server.tokens(server.clients.web, browser, {
      scope: "notes:read",
      resource: resourceAt(PORTS.notes),
    });
    const statusWith = async (token: string) =>
      (await fetch(resource, { method: "POST", headers: { authorization: `Bearer ${token}` } })).status;
    expect(await statusWith(foreign)).toBe(401);
    const code = await server.code(server.clients.web, browser, { scope: "notes:read", resource });
    const proven = { authorization: basicAuth("web", "web-secret"), dpop: aProof(proofKey(), { url: `${server.url}/oauth/token` }) };
    const { body: bound } = await server.form("/oauth/token", code, proven);
    expect([bound.token_type, (await statusWith(bound.access_token)) === 401]).toEqual(["DPoP", refusesBound]);
  });
});
