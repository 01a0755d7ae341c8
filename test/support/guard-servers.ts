import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Guard, Principal } from "@countersign/guard";
import * as viaExpress from "@countersign/guard/express";
import * as viaFastify from "@countersign/guard/fastify";
import * as viaHono from "@countersign/guard/hono";
import * as viaKoa from "@countersign/guard/koa";
import * as viaNode from "@countersign/guard/node";
import express from "express";
import fastify, { type RouteHandlerMethod } from "fastify";
import { type Handler, Hono } from "hono";
import Koa from "koa";
import { listen } from "./guard-issuer.ts";

/** Scopes of the routes of every server below; `/mcp` requires the guard's own scopes. */
const ROUTES: Readonly<Record<string, readonly string[]>> = {
  "/write": ["notes:read", "notes:write"],
  "/offline": ["notes:read", "offline_access"],
  "/any": [],
};

/** All that a handler can see of its request, and its principal. */
const seen = (request: IncomingMessage, principal: Principal, body: string) => ({
  principal,
  body,
  visible: JSON.stringify([request.headers, request.headersDistinct, request.rawHeaders, request.url]),
});

const pathOf = (request: IncomingMessage) => (request.url ?? "/").split("?", 1)[0] ?? "/";

function nodeListener(guard: Guard): RequestListener {
  const answer: viaNode.GuardedListener = async (request, response, principal) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(seen(request, principal, await text(request))));
  };
  const guarded = viaNode.protect(guard, answer);
  const routes = new Map(Object.entries(ROUTES).map(([path, scopes]) => [path, viaNode.protect(guard, answer, { scopes })]));
  return (request, response) => void (routes.get(pathOf(request)) ?? guarded)(request, response);
}

function expressListener(guard: Guard): RequestListener {
  const app = express();
  app.use(viaExpress.metadata(guard));
  const answer: express.RequestHandler = async (request, response) => {
    response.json(seen(request, viaExpress.principalOf(request), await text(request)));
  };
  for (const [path, scopes] of Object.entries(ROUTES)) app.all(path, viaExpress.protect(guard, { scopes }), answer);
  app.use("/mcp", viaExpress.protect(guard), answer);
  app.get("/open", (request, response) => void response.json(viaExpress.principalOf(request)));
  return app;
}

function koaListener(guard: Guard): RequestListener {
  const app = new Koa();
  app.silent = true;
  app.use(viaKoa.metadata(guard));
  app.use((ctx, next) => (ctx.path === "/open" ? Promise.resolve(viaKoa.principalOf(ctx)) : next()));
  for (const [path, scopes] of Object.entries(ROUTES)) {
    const guarded = viaKoa.protect(guard, { scopes });
    app.use((ctx, next) => (ctx.path === path ? guarded(ctx, next) : next()));
  }
  const guarded = viaKoa.protect(guard);
  app.use((ctx, next) => (ctx.path === "/mcp" ? guarded(ctx, next) : next()));
  app.use(async (ctx) => {
    if (ctx.state.principal !== viaKoa.principalOf(ctx)) throw new Error("two principals");
    ctx.body = seen(ctx.req, viaKoa.principalOf(ctx), await text(ctx.req));
  });
  return app.callback();
}

function fastifyListener(guard: Guard): RequestListener {
  const app = fastify({ forceCloseConnections: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  app.addHook("onRequest", viaFastify.metadata(guard));
  const answer: RouteHandlerMethod = async ({ raw, body }, reply) => {
    const sent = body instanceof Readable ? await text(body) : "";
    return reply.send(seen(raw, viaFastify.principalOf({ raw }), sent));
  };
  for (const [url, scopes] of Object.entries(ROUTES)) app.all(url, { onRequest: viaFastify.protect(guard, { scopes }) }, answer);
  for (const url of ["/mcp", "/mcp/*"]) app.all(url, { onRequest: viaFastify.protect(guard) }, answer);
  app.get("/open", async (request) => viaFastify.principalOf(request));
  const ready = app.ready();
  return async (request, response) => {
    await ready;
    app.routing(request, response);
  };
}

function honoListener(guard: Guard): RequestListener {
  const app = new Hono();
  app.onError((_, context) => context.text("", 500));
  app.use(viaHono.metadata(guard));
  const answer: Handler = async (context) => {
    const { req, env } = context;
    const { incoming } = env as { incoming: IncomingMessage };
    const view = seen(incoming, viaHono.principalOf(context), await req.text());
    return context.json({ ...view, visible: view.visible + JSON.stringify([req.header(), [...req.raw.headers]]) });
  };
  for (const [path, scopes] of Object.entries(ROUTES)) app.all(path, viaHono.protect(guard, { scopes }), answer);
  app.all("/mcp/*", viaHono.protect(guard), answer);
  app.get("/open", (context) => context.json(viaHono.principalOf(context)));
  return overFetch((inbound, incoming) => app.fetch(inbound, { incoming }));
}

/** The adapter by which a runtime calls Fetch handlers. */
export function overFetch(answer: (inbound: Request, incoming: IncomingMessage) => Response | Promise<Response>): RequestListener {
  return async (request, response) => {
    const headers = new Headers();
    for (let at = 0; at < request.rawHeaders.length; at += 2) headers.append(request.rawHeaders[at]!, request.rawHeaders[at + 1]!);
    const { method = "GET" } = request;
    const body = method === "POST" ? Readable.toWeb(request) : null;
    const inbound = new Request(`http://${request.headers.host}${request.url}`, { method, headers, body, duplex: "half" } as RequestInit);
    const given = await answer(inbound, request);
    response.writeHead(given.status, Object.fromEntries(given.headers)).end(await given.text());
  };
}

/** The Fetch handler of the guard itself. */
function fetchListener(guard: Guard): RequestListener {
  const handler = async (request: Request, principal: Principal) => {
    const body = await request.text();
    return Response.json({ principal, body, visible: JSON.stringify([[...request.headers], request.url]) });
  };
  const guarded = guard.protect(handler);
  const routes = new Map(Object.entries(ROUTES).map(([path, scopes]) => [path, guard.protect(handler, { scopes })]));
  return overFetch((inbound, incoming) => (routes.get(pathOf(incoming)) ?? guarded)(inbound));
}

const LISTENERS = {
  fetch: fetchListener,
  "node:http": nodeListener,
  Express: expressListener,
  Koa: koaListener,
  Fastify: fastifyListener,
  Hono: honoListener,
};

export type ServerKind = keyof typeof LISTENERS;
export const SERVER_KINDS = Object.keys(LISTENERS) as ServerKind[];

/** Starts a resource server of the given kind behind a guard. */
export const serve = (kind: ServerKind, guard: Guard) => listen(createServer(LISTENERS[kind](guard)));
