import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Guard, Principal } from "@countersign/guard";
import * as viaExpress from "@countersign/guard/express";
import * as viaKoa from "@countersign/guard/koa";
import * as viaNode from "@countersign/guard/node";
import express from "express";
import Koa from "koa";
import { listen } from "./guard-issuer.ts";

/** What the routes of every server below ask for, besides `/mcp`, which asks for the guard's own scopes. */
export const ROUTES: Readonly<Record<string, readonly string[]>> = {
  "/write": ["notes:read", "notes:write"],
  "/offline": ["notes:read", "offline_access"],
  "/any": [],
};

/** All that a handler can see of its request, and who it was told is calling. */
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

/** The Fetch core itself, with the few lines that a runtime would bring. */
function fetchListener(guard: Guard): RequestListener {
  const handler = async (request: Request, principal: Principal) => {
    const body = await request.text();
    return Response.json({ principal, body, visible: JSON.stringify([[...request.headers], request.url]) });
  };
  const guarded = guard.protect(handler);
  const routes = new Map(Object.entries(ROUTES).map(([path, scopes]) => [path, guard.protect(handler, { scopes })]));
  return async (request, response) => {
    const headers = new Headers();
    for (let at = 0; at < request.rawHeaders.length; at += 2) headers.append(request.rawHeaders[at]!, request.rawHeaders[at + 1]!);
    const { method = "GET" } = request;
    const body = method === "POST" ? Readable.toWeb(request) : null;
    const inbound = new Request(`http://${request.headers.host}${request.url}`, { method, headers, body, duplex: "half" } as RequestInit);
    const answer = await (routes.get(pathOf(request)) ?? guarded)(inbound);
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  };
}

const LISTENERS = { fetch: fetchListener, "node:http": nodeListener, Express: expressListener, Koa: koaListener };

export type ServerKind = keyof typeof LISTENERS;
export const SERVER_KINDS = Object.keys(LISTENERS) as ServerKind[];

/** Starts a resource server of the given kind behind a guard. */
export const serve = (kind: ServerKind, guard: Guard) => listen(createServer(LISTENERS[kind](guard)));
