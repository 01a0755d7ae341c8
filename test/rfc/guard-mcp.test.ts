import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createGuard, type Guard } from "@countersign/guard";
import { metadata, protect } from "@countersign/guard/express";
import { authInfo, principalOf, protectMcp, tokenVerifier, toolScopes, withAuthInfo } from "@countersign/guard/mcp";
import {
  Client,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  InsufficientScopeError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createMcpExpressApp, requireBearerAuth } from "@modelcontextprotocol/express";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { startNotesServer } from "../../examples/mcp-server/server.ts";
import { listen, startIssuer } from "../support/guard-issuer.ts";

const issuer = await startIssuer();
const notes = await startNotesServer({ issuer: issuer.issuer });
afterAll(async () => {
  await notes.close();
  await issuer.close();
});

const tokenFor = (resource: string, scope: string, sub = "ada") => issuer.token(resource, { claims: { scope, sub } });

/** A client of the MCP SDK that is connected with this token. */
async function connect(url: string, token: string | undefined) {
  const client = new Client({ name: "tester", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: { token: async () => token } }));
  onTestFinished(() => client.close());
  return {
    client,
    async call(name: string, args: Record<string, unknown> = {}) {
      const { content } = await client.callTool({ name, arguments: args });
      const [first] = content as { type: string; text: string }[];
      return JSON.parse(first!.text);
    },
  };
}

describe("the example MCP server, called by the client of the MCP SDK", () => {
  test("a token with both scopes reads and writes the notes of its user only", async () => {
    const ada = await connect(notes.resource, await tokenFor(notes.resource, "notes:read notes:write"));
    const bob = await connect(notes.resource, await tokenFor(notes.resource, "notes:read", "bob"));
    expect((await ada.client.listTools()).tools.map(({ name }) => name)).toEqual(["list_notes", "add_note", "who_am_i"]);
    expect(await ada.call("add_note", { text: "buy milk" })).toEqual({ added: "buy milk", count: 1 });
    expect([await ada.call("list_notes"), await bob.call("list_notes")]).toEqual([["buy milk"], []]);
  });

  test("a tool sees the subject, client, scopes and actors of its caller", async () => {
    const token = await issuer.token(notes.resource, { claims: { act: { sub: "agent" } } });
    const { call } = await connect(notes.resource, token);
    expect(await call("who_am_i")).toEqual({ sub: "ada", clientId: "notebook", scopes: ["notes:read"], actors: ["agent"] });
  });

  test("a call without a required scope is challenged with all required scopes", async () => {
    const { call } = await connect(notes.resource, await tokenFor(notes.resource, "notes:read"));
    const refusal = await call("add_note", { text: "x" }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(InsufficientScopeError);
    expect((refusal as InsufficientScopeError).requiredScope).toBe("notes:read notes:write");
    expect(String((refusal as InsufficientScopeError).resourceMetadataUrl)).toContain("/.well-known/oauth-protected-resource/mcp");
  });

  test("connecting fails without a token and with a token for another resource", async () => {
    await expect(connect(notes.resource, undefined)).rejects.toThrow();
    await expect(connect(notes.resource, await tokenFor("https://other.example/mcp", "notes:read"))).rejects.toThrow();
  });

  test("the SDK discovers the authorization server from the challenge", async () => {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(await fetch(notes.resource, { method: "POST" }));
    expect(scope).toBe("notes:read");
    const document = await discoverOAuthProtectedResourceMetadata(notes.resource, { resourceMetadataUrl: resourceMetadataUrl! });
    expect(document).toMatchObject({ resource: notes.resource, authorization_servers: [issuer.issuer] });
  });

  test("it also listens on 127.0.0.1, and other paths return 404", async () => {
    const { port } = notes;
    expect((await fetch(`http://127.0.0.1:${port}/mcp`)).status).toBe(401);
    expect((await fetch(`http://127.0.0.1:${port}/other`)).status).toBe(404);
  });
});

describe("the example as a command", () => {
  const main = fileURLToPath(new URL("../../examples/mcp-server/main.ts", import.meta.url));
  const start = (env: Record<string, string>) => {
    const child = spawn(process.execPath, ["--conditions=countersign", main], { env: { ...process.env, ...env } });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };

  test("prints its URL, serves RESOURCE with tokens of ISSUER, and exits with 0 on SIGTERM", async () => {
    const resource = "https://notes.example/tools";
    const child = start({ PORT: "0", RESOURCE: resource, ISSUER: issuer.issuer });
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
    });
    while (!/issuer/.test(said)) await once(child.stdout, "data");
    const origin = /http:\/\/localhost:\d+/.exec(said)?.[0];
    const response = await fetch(`${origin}/.well-known/oauth-protected-resource/tools`);
    expect(await response.json()).toMatchObject({ resource, authorization_servers: [issuer.issuer] });
    const { call } = await connect(`${origin}/tools`, await tokenFor(resource, "notes:read"));
    expect(await call("list_notes")).toEqual([]);
    child.kill("SIGTERM");
    expect((await once(child, "exit"))[0]).toBe(0);
  });

  test("prints what is wrong with a setting and exits with 1", async () => {
    const child = start({ PORT: "0", ISSUER: "http://as.example" });
    const [[said], [code]] = await Promise.all([once(child.stderr, "data"), once(child, "exit")]);
    expect([String(said), code]).toEqual([expect.stringContaining("must be https"), 1]);
  });
});

/** One tool that requires a further scope, and returns all that it sees of its caller. */
function aServer(guard: Guard) {
  const server = new McpServer({ name: "probe", version: "1.0.0" });
  const look = { description: "Shows the caller", scopeChallenge: toolScopes(guard, ["probe:look"]) };
  server.registerTool("look", look, (context) => {
    const { authInfo: info, req } = context.http ?? {};
    const visible = { token: info?.token, headers: [...(req?.headers ?? [])], resource: info?.resource };
    return { content: [{ type: "text", text: JSON.stringify({ ...visible, sub: principalOf(info).sub }) }] };
  });
  return server;
}

const RESOURCE = "https://probe.example/mcp";
const aGuard = () => createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer], scopes: ["probe:enter"] });

/** Express with the SDK's own transport for Node behind the guard. */
function expressApp(guard: Guard) {
  const app = createMcpExpressApp();
  app.use(metadata(guard));
  app.post("/mcp", protect(guard), async (request, response) => {
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await aServer(guard).connect(transport as Parameters<McpServer["connect"]>[0]); // its optional members allow undefined, the interface's do not
    await transport.handleRequest(withAuthInfo(guard, request), response, request.body);
  });
  return app;
}

/** A Fetch handler behind the guard. */
function fetchApp(guard: Guard): RequestListener {
  const handler = createMcpHandler(() => aServer(guard));
  const guarded = protectMcp(guard, handler);
  return async (request, response) => {
    const headers = new Headers(request.headers as Record<string, string>); // the client sends no repeated header
    const body = request.method === "POST" ? await text(request) : null;
    const answer = await guarded(new Request(`http://${request.headers.host}${request.url}`, { method: request.method!, headers, body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  };
}

describe.for([
  ["Express and the SDK's Node transport", expressApp],
  ["Fetch", fetchApp],
] as const)("an MCP server on %s", ([, app]) => {
  test("tools see the caller but not the token (abuse checklist 49), and a missing scope is insufficient_scope", async () => {
    const { origin, close } = await listen(createServer(app(aGuard())));
    onTestFinished(close);
    const full = await connect(`${origin}/mcp`, await tokenFor(RESOURCE, "probe:enter probe:look"));
    const { headers, ...caller } = await full.call("look");
    expect(caller).toEqual({ token: "", resource: RESOURCE, sub: "ada" });
    expect(headers.map(([name]: [string]) => name)).not.toContain("authorization");

    const narrow = await connect(`${origin}/mcp`, await tokenFor(RESOURCE, "probe:enter"));
    await expect(narrow.call("look")).rejects.toMatchObject({ requiredScope: "probe:enter probe:look" });
    await expect(connect(`${origin}/mcp`, await tokenFor(RESOURCE, "probe:look"))).rejects.toBeInstanceOf(InsufficientScopeError);
  });
});

describe("the token verifier under the SDK's own requireBearerAuth", () => {
  async function status(guard: Guard, token: string) {
    const app = createMcpExpressApp();
    const gate = requireBearerAuth({
      verifier: tokenVerifier(guard),
      requiredScopes: ["probe:enter"],
      expectedResource: new URL(RESOURCE),
    });
    app.get("/mcp", gate, (request, response) => void response.json({ token: request.auth?.token }));
    const { origin, close } = await listen(createServer(app));
    onTestFinished(close);
    const response = await fetch(`${origin}/mcp`, { headers: { authorization: `Bearer ${token}` } });
    return [response.status, await response.json()];
  }

  test("returns 200, 401 or 403 as the guard decides", async () => {
    expect(await status(aGuard(), await tokenFor(RESOURCE, "probe:enter"))).toEqual([200, { token: "" }]);
    expect((await status(aGuard(), "rubbish"))[0]).toBe(401);
    expect((await status(aGuard(), await tokenFor(RESOURCE, "probe:look")))[0]).toBe(403);
  });

  test("returns 500, not 401, while the issuer is down", async () => {
    const downIssuer = "http://127.0.0.1:9";
    const guard = createGuard({ resource: RESOURCE, authorizationServers: [downIssuer] });
    expect((await status(guard, await issuer.token(RESOURCE, { claims: { iss: downIssuer } })))[0]).toBe(500);
  });
});

test("authInfo has an empty clientId, not undefined, for a principal without one", () => {
  const principal = {
    sub: "a",
    clientId: undefined,
    scopes: [],
    actors: [],
    audience: [RESOURCE],
    expiresAt: 1,
    issuer: "https://as.example",
  };
  expect(authInfo(aGuard(), principal)).toMatchObject({ clientId: "", token: "", resourceMetadataUrl: aGuard().metadataUrl });
});
