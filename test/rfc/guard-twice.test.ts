import { Agent, createServer, type IncomingMessage, type RequestListener, request } from "node:http";
import { text } from "node:stream/consumers";
import { createGuard, type Guard } from "@countersign/guard";
import * as viaExpress from "@countersign/guard/express";
import * as viaFastify from "@countersign/guard/fastify";
import * as viaHono from "@countersign/guard/hono";
import * as viaKoa from "@countersign/guard/koa";
import * as viaNode from "@countersign/guard/node";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import Koa from "koa";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { anIssuerKey, listen, startIssuer } from "../support/guard-issuer.ts";
import { overFetch } from "../support/guard-servers.ts";

const RESOURCE = "https://notes.example/mcp";
const issuer = await startIssuer();
afterAll(issuer.close);
const reader = await issuer.token(RESOURCE);
const writer = await issuer.token(RESOURCE, { claims: { sub: "grace", scope: "notes:read notes:write" } });
const forged = await issuer.token(RESOURCE, { claims: { scope: "notes:read notes:write" }, key: await anIssuerKey("first") });

const aGuard = (resource = RESOURCE) => createGuard({ resource, authorizationServers: [issuer.issuer], scopes: ["notes:read"] });

/** The scopes that the inner guard requires in addition to those of the outer one. */
const ROUTE = { scopes: ["notes:write"] };

const failure = (error: unknown) => new Response(String(error), { status: 500 });

/** Servers that protect a request twice, by an outer and an inner guard. */
const TWICE: Readonly<Record<string, (outer: Guard, inner: Guard) => RequestListener>> = {
  fetch: (outer, inner) => {
    const guarded = outer.protect(inner.protect((_, { sub }) => Response.json(sub), ROUTE));
    return overFetch((inbound) => guarded(inbound).catch(failure));
  },
  "node:http": (outer, inner) => {
    const listener: viaNode.GuardedListener = (_, response, { sub }) => response.end(JSON.stringify(sub));
    return viaNode.protect(outer, viaNode.protect(inner, listener, ROUTE));
  },
  Express(outer, inner) {
    const app = express();
    app.use(viaExpress.protect(outer));
    app.get("/", viaExpress.protect(inner, ROUTE), (inbound, response) => void response.json(viaExpress.principalOf(inbound).sub));
    const failed: express.ErrorRequestHandler = (error, _inbound, response, _next) => void response.status(500).end(String(error));
    return app.use(failed);
  },
  Koa(outer, inner) {
    const app = new Koa();
    app.use(async (ctx, next) => {
      try {
        await next();
      } catch (error) {
        ctx.status = 500;
        ctx.body = String(error);
      }
    });
    app.use(viaKoa.protect(outer)).use(viaKoa.protect(inner, ROUTE));
    app.use((ctx) => {
      ctx.body = JSON.stringify(viaKoa.principalOf(ctx).sub);
    });
    return app.callback();
  },
  Fastify(outer, inner) {
    const app = fastify({ forceCloseConnections: true });
    app.addHook("onRequest", viaFastify.protect(outer));
    app.get("/", { onRequest: viaFastify.protect(inner, ROUTE) }, async (inbound) => JSON.stringify(viaFastify.principalOf(inbound).sub));
    const ready = app.ready();
    return async (inbound, response) => {
      await ready;
      app.routing(inbound, response);
    };
  },
  Hono(outer, inner) {
    const app = new Hono();
    app.onError(failure);
    app.use(viaHono.protect(outer));
    app.use(bodyLimit({ maxSize: 1_000 })); // replaces the request that the outer guard verified
    app.post("/", viaHono.protect(inner, ROUTE), (c) => c.json(viaHono.principalOf(c).sub));
    app.get("/", viaHono.protect(inner, ROUTE), (c) => c.json(viaHono.principalOf(c).sub));
    return overFetch((inbound, incoming) => app.fetch(inbound, { incoming }));
  },
  "Hono in Fetch": (outer, inner) => {
    const app = new Hono();
    app.onError(failure);
    app.get("/", viaHono.protect(inner, ROUTE), (c) => c.json(viaHono.principalOf(c).sub));
    const guarded = outer.protect((inbound) => app.fetch(inbound));
    return overFetch((inbound) => guarded(inbound));
  },
  "Express in node:http": (outer, inner) => {
    const app = express();
    app.use(viaExpress.protect(inner, ROUTE), (inbound, response) => void response.json(viaExpress.principalOf(inbound).sub));
    const failed: express.ErrorRequestHandler = (error, _inbound, response, _next) => void response.status(500).end(String(error));
    app.use(failed);
    return viaNode.protect(outer, app);
  },
};

/** Starts a server. @returns a function that sends requests over one connection */
async function start(listener: RequestListener) {
  const { origin, close } = await listen(createServer(listener));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(async () => {
    agent.destroy();
    await close();
  });
  return async (token?: string, method = "GET", others: Readonly<Record<string, string>> = {}) => {
    const headers = { ...others, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    const asked = request(origin, { agent, method, headers });
    asked.end(method === "POST" ? "{}" : undefined);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      asked.on("response", resolve).on("error", reject);
    });
    const challenge = response.headers["www-authenticate"] ?? "";
    return { status: response.statusCode, body: await text(response), scope: /scope="([^"]*)"/.exec(challenge)?.[1] };
  };
}

describe.each(Object.entries(TWICE))("%s", (kind, listener) => {
  test("the same guard as outer and inner guard only checks the further scopes of the route", async () => {
    const guard = aGuard();
    const ask = await start(listener(guard, guard));
    expect(await ask(writer)).toMatchObject({ status: 200, body: '"grace"' });
    expect(await ask(reader)).toMatchObject({ status: 403, scope: "notes:read notes:write", body: '{"error":"insufficient_scope"}' });
    expect(await ask()).toMatchObject({ status: 401, scope: "notes:read" });
  });

  test("neither an earlier request on the same connection nor a principal in the headers grants access", async () => {
    const guard = aGuard();
    const ask = await start(listener(guard, guard));
    expect((await ask(writer)).status).toBe(200);
    const claimed = {
      principal: '{"sub":"grace","scopes":["notes:read","notes:write"]}',
      "x-principal": "grace",
      cookie: "principal=grace",
    };
    expect((await ask(undefined, "GET", claimed)).status).toBe(401);
    expect((await ask(forged, "GET", claimed)).status).toBe(401);
  });

  test("another guard on the same request returns 500 and names the mistake", async () => {
    const ask = await start(listener(aGuard(), aGuard("https://other.example")));
    const { status, body } = await ask(writer);
    expect(status).toBe(500);
    if (kind !== "node:http") expect(body).toContain("two guards"); // which sends no error text
  });
});

test("a request with a body keeps its principal when a middleware replaces the request", async () => {
  const guard = aGuard();
  const ask = await start(TWICE.Hono!(guard, guard));
  expect(await ask(writer, "POST")).toMatchObject({ status: 200, body: '"grace"' });
  expect((await ask(undefined, "POST")).status).toBe(401);
});

test("a Request that is used again is verified again by another guard", async () => {
  const elsewhere = createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer], scopes: ["notes:write"] });
  const guarded = aGuard().protect(() => new Response());
  const inbound = new Request(RESOURCE.replace("https", "http"), { headers: { authorization: `Bearer ${reader}` } });
  expect((await guarded(inbound)).status).toBe(200);
  expect((await elsewhere.protect(() => new Response())(inbound)).status).toBe(403);
});
