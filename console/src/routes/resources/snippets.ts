/** How a resource is guarded, called and connected to, filled in. Pure: test/unit/console/snippets.test.ts compares with the documents whose programs are run. */

export interface SnippetValues {
  readonly issuer: string;
  readonly resource: string;
  readonly name: string;
  /** The scope that every request needs, if there is one, and all others. */
  readonly scopes: readonly string[];
}

export interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

const json = (value: unknown): string => JSON.stringify(value);
/** An argument of a shell: in quotes unless all its characters are plain. */
const shell = (text: string): string => (/^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
/** A name that each program takes. */
const slug = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "server";
const pathOf = (resource: string): string => URL.parse(resource)?.pathname ?? "/";
/** Where the server listens: a resource over https has a proxy before it. */
const portOf = (resource: string): string => (/^http:/.test(resource) && URL.parse(resource)?.port) || "4000";

export function guardFile({ issuer, resource, scopes }: SnippetValues): string {
  const [first, ...others] = scopes;
  return `import { createGuard } from "@countersign/guard";

export const guard = createGuard({
  resource: ${json(resource)},
  authorizationServers: [${json(issuer)}],
${first === undefined ? "" : `  scopes: [${json(first)}], // what every request needs, unless its route says otherwise\n`}${
  others.length === 0 ? "" : `  scopesSupported: [${others.map(json).join(", ")}], // what some routes or tools need besides\n`
}});
`;
}

export function mcpFile({ resource, name, scopes }: SnippetValues): string {
  const [, scope] = scopes;
  const challenge =
    scope === undefined ? "" : `\n      scopeChallenge: toolScopes(guard, [${json(scope)}]), // this tool needs more than the door`;
  return `import { metadata, protect } from "@countersign/guard/express";
import { principalOf, ${scope === undefined ? "" : "toolScopes, "}withAuthInfo } from "@countersign/guard/mcp";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import express from "express";
import { z } from "zod";
import { guard } from "./guard.js";

const mcp = createMcpHandler(() => {
  const server = new McpServer({ name: ${json(slug(name))}, version: "1.0.0" });
  server.registerTool(
    "add_note",
    {
      description: "Keeps a note",
      inputSchema: z.object({ text: z.string() }),${challenge}
    },
    ({ text }, context) => {
      const { sub } = principalOf(context.http?.authInfo);
      return { content: [{ type: "text", text: \`noted for \${sub}: \${text}\` }] };
    },
  );
  return server;
});

const serve = toNodeHandler(mcp);
const app = express();
app.use(metadata(guard)); // at the root: the document's address is fixed
app.all(${json(pathOf(resource))}, protect(guard), (request, response) => serve(withAuthInfo(guard, request), response));
app.listen(${portOf(resource)});
`;
}

const FRAMEWORKS = {
  Express: `import { metadata, principalOf, protect } from "@countersign/guard/express";
import express from "express";
import { guard } from "./guard.js";

const app = express();
app.use(metadata(guard));
app.get("/notes", protect(guard), (request, response) => {
  response.json({ owner: principalOf(request).sub });
});
`,
  Koa: `import { metadata, protect } from "@countersign/guard/koa";
import Router from "@koa/router";
import Koa from "koa";
import { guard } from "./guard.js";

const router = new Router();
router.get("/notes", protect(guard), (ctx) => {
  ctx.body = { owner: ctx.state.principal.sub };
});
`,
  Fastify: `import { metadata, principalOf, protect } from "@countersign/guard/fastify";
import fastify from "fastify";
import { guard } from "./guard.js";

const app = fastify();
app.addHook("onRequest", metadata(guard));
app.get("/notes", { onRequest: protect(guard) }, async (request) => ({ owner: principalOf(request).sub }));
`,
  Hono: `import { metadata, principalOf, protect } from "@countersign/guard/hono";
import { Hono } from "hono";
import { guard } from "./guard.js";

const app = new Hono();
app.use(metadata(guard));
app.get("/notes", protect(guard), (c) => c.json({ owner: principalOf(c).sub }));
`,
  "node:http": `import { createServer } from "node:http";
import { protect } from "@countersign/guard/node";
import { guard } from "./guard.js";

const read = protect(guard, (request, response, principal) => response.end(JSON.stringify({ owner: principal.sub })));
`,
} as const;
export type Framework = keyof typeof FRAMEWORKS;

/** What follows the routes. */
const ENDS: Readonly<Record<Framework, string>> = {
  Express: "app.listen(4000);\n",
  Koa: "\nconst app = new Koa();\napp.use(metadata(guard));\napp.use(router.routes());\napp.listen(4000);\n",
  Fastify: "await app.listen({ port: 4000 });\n",
  Hono: "export default app;\n",
  "node:http": "createServer((request, response) => read(request, response)).listen(4000);\n",
};

export const frameworkFile = (framework: Framework, { resource }: SnippetValues): string =>
  FRAMEWORKS[framework] + ENDS[framework].replace("4000", portOf(resource));

export function fastMcpProvider({ issuer, resource, name, scopes }: SnippetValues): string {
  const [first, ...others] = scopes;
  return `ISSUER = ${json(issuer)}
ORIGIN = ${json(URL.parse(resource)?.origin ?? resource)}

auth = RemoteAuthProvider(
    token_verifier=JWTVerifier(
        jwks_uri=f"{ISSUER}/.well-known/jwks.json",
        issuer=ISSUER,
        audience=f"{ORIGIN}${pathOf(resource)}",  # the resource: a token for another one is refused
        algorithm="EdDSA",
        required_scopes=[${first === undefined ? "" : json(first)}],
    ),
    authorization_servers=[ISSUER],
    base_url=ORIGIN,
    scopes_supported=[${[...(first === undefined ? [] : [first]), ...others].map(json).join(", ")}],
    resource_name=${json(name)},
)
mcp = FastMCP(${json(slug(name))}, auth=auth)
`;
}

/** For the server's side. */
export function serverSnippets(values: SnippetValues): readonly Snippet[] {
  const frameworks = Object.keys(FRAMEWORKS) as Framework[];
  return [
    { id: "guard", label: "guard.js", code: guardFile(values) },
    { id: "mcp", label: "MCP SDK", code: mcpFile(values) },
    ...frameworks.map((framework) => ({ id: framework, label: framework, code: frameworkFile(framework, values) })),
    { id: "fastmcp", label: "FastMCP (Python)", code: fastMcpProvider(values) },
    { id: "go", label: "Go", code: goCommand(values) },
  ];
}

/** The credentials are those of a confidential client whose audience names the resource. */
const goCommand = ({ issuer, resource }: SnippetValues): string => `ISSUER=${shell(issuer)} RESOURCE=${shell(resource)} PORT=4100 \\
GRPC_ADDRESS=127.0.0.1:3001 GRPC_PLAINTEXT=true \\
CLIENT_ID=$client_id CLIENT_SECRET=$client_secret ./notes
`;

/** For clients. */
export function clientSnippets({ resource, name }: SnippetValues): readonly Snippet[] {
  const key = slug(name);
  const vsCode = { servers: { [key]: { type: "http", url: resource } } };
  const cursor = { mcpServers: { [key]: { url: resource } } };
  return [
    { id: "claude", label: "Claude Code", code: `claude mcp add --transport http ${key} ${shell(resource)}\n` },
    { id: "vscode", label: "VS Code (.vscode/mcp.json)", code: `${JSON.stringify(vsCode, null, 2)}\n` },
    { id: "cursor", label: "Cursor (.cursor/mcp.json)", code: `${JSON.stringify(cursor, null, 2)}\n` },
    { id: "curl", label: "curl", code: `curl -i ${shell(resource)} -H "Authorization: Bearer $token"\n` },
    { id: "doctor", label: "countersign doctor", code: `npx countersign doctor ${shell(resource)}\n` },
  ];
}
