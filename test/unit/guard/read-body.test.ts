import { createGuard } from "@countersign/guard";
import { principalOf, protect } from "@countersign/guard/hono";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { startIssuer } from "../../support/guard-issuer.ts";

const RESOURCE = "https://notes.example.test/mcp";

async function aGuardedRequest() {
  const issuer = await startIssuer();
  onTestFinished(issuer.close);
  const headers = { authorization: `Bearer ${await issuer.token(RESOURCE)}` };
  return {
    guard: createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer] }),
    request: new Request(RESOURCE, { method: "POST", headers, body: "note" }),
  };
}

test("a guard of Hono takes a request whose body a middleware has read before", async () => {
  const { guard, request } = await aGuardedRequest();
  const app = new Hono();
  app.use(async ({ req }, next) => {
    await req.text();
    await next();
  });
  app.post("/mcp", protect(guard), async (context) => context.text(`${await context.req.text()} of ${principalOf(context).sub}`));
  const response = await app.fetch(request);
  expect([response.status, await response.text()]).toEqual([200, "note of ada"]);
});

test("a body that was read before the guard is not an empty one behind it", async () => {
  const { guard, request } = await aGuardedRequest();
  await request.text();
  const handle = guard.protect(({ method, headers, bodyUsed }) => Response.json([method, headers.has("authorization"), bodyUsed]));
  expect(await (await handle(request)).json()).toEqual(["POST", false, true]);
});
