import { createServer } from "node:http";
import { createGuard } from "@countersign/guard";
import { protect } from "@countersign/guard/node";
import { expect, onTestFinished, test } from "vitest";
import { listen, startIssuer } from "../support/guard-issuer.ts";
import { SERVER_KINDS, serve } from "../support/guard-servers.ts";

const RESOURCE = "https://notes.example/mcp";

test.for(SERVER_KINDS)("%s returns 503 with Retry-After while the issuer is down and its keys were never fetched", async (kind) => {
  const issuer = await startIssuer();
  const token = await issuer.token(RESOURCE);
  await issuer.close();
  const server = await serve(kind, createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer] }));
  onTestFinished(server.close);
  const response = await fetch(`${server.origin}/mcp`, { headers: { authorization: `Bearer ${token}` } });
  expect([response.status, response.headers.get("retry-after"), response.headers.get("www-authenticate")]).toEqual([503, "5", null]);
  expect((await fetch(`${server.origin}/mcp`)).status).toBe(401);
});

test.for(SERVER_KINDS)("%s accepts known and new tokens with cached keys while the issuer is down", async (kind) => {
  const issuer = await startIssuer();
  const [first, second] = [await issuer.token(RESOURCE), await issuer.token(RESOURCE, { claims: { sub: "bob" } })];
  const server = await serve(kind, createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer] }));
  onTestFinished(server.close);
  const status = async (token: string) => (await fetch(`${server.origin}/mcp`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await status(first)).toBe(200);
  await issuer.close();
  expect([await status(first), await status(second)]).toEqual([200, 200]);
});

test("100 concurrent requests fetch the issuer's metadata and keys once", async () => {
  const issuer = await startIssuer();
  onTestFinished(issuer.close);
  const server = await serve("node:http", createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer] }));
  onTestFinished(server.close);
  const tokens = await Promise.all(Array.from({ length: 100 }, (_, n) => issuer.token(RESOURCE, { claims: { sub: `p${n}` } })));
  const answers = await Promise.all(
    tokens.map((token) => fetch(`${server.origin}/mcp`, { headers: { authorization: `Bearer ${token}` } })),
  );
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(issuer.requests).toEqual(["/.well-known/oauth-authorization-server", "/keys"]);
});

test("a failing handler returns an empty 500 without its headers, and reading the principal fails on a route without a guard", async () => {
  const issuer = await startIssuer();
  onTestFinished(issuer.close);
  const warnings: unknown[] = [];
  const note = (warning: unknown) => warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  const guard = createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer] });
  const failing = protect(guard, (_request, response) => {
    response.setHeader("Content-Length", 10).setHeader("Cache-Control", "max-age=300");
    throw new Error("a fault of the handler");
  });
  const server = await listen(createServer((request, response) => void failing(request, response.setHeader("Vary", "Origin"))));
  onTestFinished(server.close);
  const response = await fetch(server.origin, { headers: { authorization: `Bearer ${await issuer.token(RESOURCE)}` } });
  const { status, headers } = response;
  expect([status, headers.get("content-length"), headers.get("cache-control"), headers.get("vary")]).toEqual([500, null, null, "Origin"]);
  expect(await response.text()).toBe("");
  expect(String(warnings[0])).toContain("a fault of the handler");
  for (const kind of ["Express", "Koa", "Fastify", "Hono"] as const) {
    const open = await serve(kind, guard);
    onTestFinished(open.close);
    expect((await fetch(`${open.origin}/open`)).status).toBe(500);
  }
});
