import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { apiErrorPrinter, oauthErrorPrinter, sendJson } from "../../../src/front/http/answers.ts";
import { clientAddress, hasForwardedHeaders } from "../../../src/front/http/caller.ts";
import type { HotContext, Route } from "../../../src/front/http/routes.ts";
import { type FrontListener, type ListenOptions, listen } from "../../../src/front/http/server.ts";
import { type Lifecycle, requestIds } from "../../../src/front/http/steps.ts";
import { ISSUER, rawRequest, startFront, type TestFront } from "../../support/front.ts";

const api = apiErrorPrinter(ISSUER);
const route = (path: string, answer: (ctx: HotContext) => void = (ctx) => sendJson(ctx, { path })): Route => ({
  method: "GET",
  path,
  print: api,
  answer,
});

let front: TestFront | undefined;
afterEach(async () => {
  await front?.close();
  front = undefined;
});
const statusOf = async (response: Promise<Response>) => (await response).status;
const statusLine = async (target: string) =>
  /^HTTP\/1.1 (\d+)/.exec(await rawRequest(front?.port ?? 0, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`))?.[1];

describe("paths of an issuer with a path", () => {
  const hot: Route = { method: "GET", path: "/hot", hot: true, print: api, answer: (ctx) => sendJson(ctx, { url: ctx.req.url }) };

  test("are served with and without the issuer's path", async () => {
    front = await startFront({ issuer: "https://id.example.test/tenant/", routes: [hot, route("/cold")] });
    for (const path of ["/hot", "/tenant/hot", "/cold", "/tenant/cold", "/hot?a=/tenant", "/tenant/hot?a"])
      expect([path, await statusOf(fetch(front.url + path))]).toEqual([path, 200]);
    for (const path of ["/tenants/hot", "/tenanthot", "/tenant", "/tenant?a", "/tenant/tenant/hot", "/x/tenant/hot"])
      expect([path, await statusOf(fetch(front.url + path))]).toEqual([path, 404]);
    expect(await (await fetch(`${front.url}/tenant/hot?a=b`)).json()).toEqual({ url: "/hot?a=b" });
  });

  test("are removed for a listener beside Koa too", async () => {
    const listener: RequestListener = (request, response) => void response.end(request.url);
    front = await startFront({ issuer: "https://id.example.test/tenant", routes: [], listeners: new Map([["/beside", listener]]) });
    for (const path of ["/tenant/beside?a=b", "/beside?a=b"]) expect(await (await fetch(front.url + path)).text()).toBe("/beside?a=b");
    for (const path of ["/tenant/beside/", "/tenant/tenant/beside"])
      expect([path, await statusOf(fetch(front.url + path))]).toEqual([path, 404]);
  });

  test("include the root as a route", async () => {
    front = await startFront({ issuer: "https://id.example.test/tenant", routes: [route("/")] });
    for (const path of ["/", "/tenant", "/tenant/", "/tenant?a"])
      expect([path, await statusOf(fetch(front.url + path))]).toEqual([path, 200]);
  });

  test("are found in an absolute-form target, with any authority", async () => {
    front = await startFront({ routes: [hot, route("/cold")] });
    for (const target of ["http://x/hot", "HTTPS://x/cold", "http://x:1/hot?a"])
      expect([target, await statusLine(target)]).toEqual([target, "200"]);
    for (const target of ["http://x", "http://x?/hot", "xhttp://x/hot", "http://[::1", "ftp://[::1/hot"])
      expect([target, await statusLine(target)]).toEqual([target, "400"]);
    expect(front.faults).toEqual([]);
    expect(await statusLine("/http://x/hot")).toBe("404");
  });
});

describe("paths of a front", () => {
  test("match exactly", async () => {
    front = await startFront({ routes: [route("/.well-known/a"), route("/things/:id"), route("/a(b)*")] });
    for (const path of ["/.well-known/a", "/things/1", "/a(b)*"])
      expect([path, await statusOf(fetch(front.url + path))]).toEqual([path, 200]);
    for (const path of [
      "/.well-known/A",
      "/.well-known/a/",
      "/xwell-known/a",
      "/things",
      "/things/",
      "/things/1/2",
      "/things/%31",
      "/ab",
      "/a",
    ])
      expect([path, await statusOf(fetch(front.url + path))]).toEqual([path, 404]);
    expect([await statusLine("/things/1#x"), await statusLine("//things/1")]).toEqual(["404", "404"]);
  });

  test("have one route for each method", async () => {
    await expect(() => startFront({ routes: [route("/a"), route("/a")] })).rejects.toThrow("two routes for one method of /a");
  });

  test("that are unknown return a page to browsers, where the front has one", async () => {
    const page = (ctx: HotContext) => {
      ctx.status = 404;
      ctx.body = "page";
    };
    front = await startFront({ routes: [route("/a")], page });
    const seen = async (accept: string, path = "/x") => {
      const response = await fetch(`${front?.url}${path}`, { headers: { accept } });
      return [response.status, response.headers.get("vary"), (await response.text()).slice(0, 4)];
    };
    expect(await seen("text/html")).toEqual([404, "Accept", "page"]);
    expect(await seen("application/json")).toEqual([404, "Accept", '{"st']);
    expect(await seen("*/*")).toEqual([404, "Accept", '{"st']);
    await front.close();
    front = await startFront({ routes: [route("/a")] });
    expect(await seen("text/html")).toEqual([404, null, '{"st']);
  });
});

describe("telemetry of requests", () => {
  test("has the route, a method of a fixed set, the status and the duration of each request", async () => {
    const observed: unknown[][] = [];
    const refused: unknown[][] = [];
    const faults: unknown[] = [];
    const fault = new Error("fault");
    const refusal = new Refusal("forbidden", "because");
    const throwing = (error: unknown) => () => {
      throw error;
    };
    front = await startFront({
      routes: [route("/a"), route("/refused", throwing(refusal)), route("/fault", throwing(fault))],
      telemetry: {
        observe: (...seen) => void observed.push(seen),
        refused: (...seen) => void refused.push(seen),
        fault: (seen) => void faults.push(seen),
      },
    });
    for (const path of ["/a", "/refused", "/fault"]) await (await fetch(front.url + path)).text();
    await rawRequest(front.port, "PROPFIND /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const took = expect.toSatisfy((seconds: number) => seconds > 0 && seconds < 60);
    expect(observed).toEqual([
      ["/a", "GET", 200, took, "r1"],
      ["/refused", "GET", 403, took, "r2"],
      ["/fault", "GET", 500, took, "r3"],
      ["/a", "other", 405, took, "r4"],
    ]);
    expect(refused[0]).toEqual([refusal, { requestId: "r2", route: "/refused" }]);
    expect(faults).toEqual([{ requestId: "r3", route: "/fault", error: fault }]);
  });

  test("has no fault for a client that disconnects", async () => {
    const arrived = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const answer = async (ctx: HotContext) => {
      arrived.resolve();
      await once(ctx.req.socket, "close");
      sendJson(ctx, {});
      done.resolve();
    };
    front = await startFront({ routes: [{ ...route("/a"), answer }] });
    const socket = connect(front.port, "127.0.0.1");
    socket.write("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    await arrived.promise;
    socket.destroy();
    await done.promise;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(front.faults).toEqual([]);
  });
});

test.for(["/a", "/listened"])(
  "every response of %s has a request id and nosniff, and closes the connection while the front leaves",
  async (path) => {
    const life: Lifecycle = { draining: false };
    const listeners = new Map<string, RequestListener>([
      ["/listened", (_, res) => res.writeHead(200, { "content-type": "text/plain" }).end()],
    ]);
    front = await startFront({ routes: [route("/a")], listeners, lifecycle: life });
    const headersOf = async () => {
      const { headers } = await fetch(`${front?.url}${path}`);
      return [headers.get("x-request-id"), headers.get("x-content-type-options"), headers.get("connection")];
    };
    expect(await headersOf()).toEqual(["r1", "nosniff", "keep-alive"]);
    life.draining = true;
    expect(await headersOf()).toEqual(["r2", "nosniff", "keep-alive"]);
    life.leaving = true;
    expect(await headersOf()).toEqual(["r3", "nosniff", "close"]);
  },
);

test("request ids consist of a random part and a count", () => {
  const next = requestIds((size) => new Uint8Array(size).fill(255));
  const ids = Array.from({ length: 40 }, next);
  expect([ids[0], ids[9], ids[39]]).toEqual(["____________-1", "____________-a", "____________-14"]);
});

test("an OAuth error has an OAuth code and the description of the refusal", () => {
  const body = (refusal: Refusal) => {
    const ctx = { req: { headers: {} }, status: 0, body: "", set: () => undefined };
    oauthErrorPrinter(ISSUER)(ctx as unknown as HotContext, refusal);
    return [ctx.status, JSON.parse(ctx.body)];
  };
  expect(body(new Refusal("unsupported_media_type", "x"))).toEqual([415, { error: "invalid_request" }]);
  expect(body(new Refusal("method_not_allowed", "x"))).toEqual([405, { error: "invalid_request" }]);
  expect(body(new Refusal("invalid_grant", "x", { description: "Words." }))).toEqual([
    400,
    { error: "invalid_grant", error_description: "Words." },
  ]);
});

describe("the client's address", () => {
  const from = (remoteAddress: string | undefined, forwarded?: string | string[]) =>
    ({
      socket: { remoteAddress },
      headers: { ...(forwarded !== undefined && { "x-forwarded-for": forwarded }) },
    }) as unknown as IncomingMessage;

  test.for<readonly [string, IncomingMessage, boolean, string]>([
    ["that of its connection", from("192.0.2.1", "192.0.2.9"), false, "192.0.2.1"],
    ["an IPv4 address, also where the socket reports it as IPv6", from("::ffff:192.0.2.1"), false, "192.0.2.1"],
    ["an IPv6 address", from("2001:db8::1"), false, "2001:db8::1"],
    ["an IPv6 address that resembles an IPv4 one", from("::ffff:1:2"), false, "::ffff:1:2"],
    ["empty for a closed connection", from(undefined), false, ""],
    ["the last one in X-Forwarded-For", from("192.0.2.1", "192.0.2.8, 192.0.2.9"), true, "192.0.2.9"],
    ["the last of several headers", from("192.0.2.1", ["192.0.2.8", "192.0.2.9"]), true, "192.0.2.9"],
    ["without a port", from("192.0.2.1", "[::ffff:192.0.2.9]:80"), true, "192.0.2.9"],
    ["the proxy's without X-Forwarded-For", from("192.0.2.1"), true, "192.0.2.1"],
    ["the proxy's where the header has text after an address", from("192.0.2.1", "192.0.2.9:80x"), true, "192.0.2.1"],
    ["the proxy's where the header has text before an address", from("192.0.2.1", "x[2001:db8::1]:80"), true, "192.0.2.1"],
  ])("is %s", ([, request, trusted, address]) => expect(clientAddress(request, trusted)).toBe(address));

  test("is hidden by a proxy that sends one of its headers", () => {
    const headersOf = (headers: object) => hasForwardedHeaders({ headers } as IncomingMessage);
    for (const name of ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"])
      expect([name, headersOf({ [name]: "" })]).toEqual([name, true]);
    expect(headersOf({ host: "x" })).toBe(false);
  });
});

describe("a listener", () => {
  let listener: FrontListener | undefined;
  const others: Server[] = [];
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listener?.drain(0, 0);
    for (const server of others.splice(0)) server.close();
    listener = undefined;
  });
  const start = async (options: Partial<ListenOptions> = {}) => {
    listener = await listen({
      host: "127.0.0.1",
      port: 0,
      lifecycle: { draining: false },
      handler: (_req, res) => void res.end("ok"),
      ...options,
    });
    return listener.addresses.map(({ port }) => port);
  };

  test("on localhost listens on both loopback addresses with one port", async () => {
    const ports = await start({ host: "localhost" });
    expect(listener?.addresses.map(({ address }) => address)).toEqual(ports.length === 2 ? ["127.0.0.1", "::1"] : ["127.0.0.1"]);
    expect(new Set(ports).size).toBe(1);
  });

  test("fails to start with EADDRINUSE", async () => {
    const taken = createServer();
    others.push(taken);
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    for (const host of ["127.0.0.1", "localhost"])
      await expect(listen({ host, port, lifecycle: { draining: false }, handler: () => undefined })).rejects.toMatchObject({
        code: "EADDRINUSE",
      });
  });

  test("drains: serves during the notice, then refuses connections and closes idle ones", async () => {
    const life: Lifecycle = { draining: false };
    const [port = 0] = await start({ lifecycle: life, times: { keepAlive: 100 } });
    const idle = connect(port, "127.0.0.1");
    sockets.push(idle);
    idle.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(idle, "data");
    const draining = listener?.drain(60, 10_000);
    expect(life.draining).toBe(true);
    expect(listener?.drain(60, 10_000)).toBe(draining);
    expect((await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } })).status).toBe(200);
    idle.resume();
    await Promise.all([draining, once(idle, "close")]);
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  test("lets requests in flight finish within the grace period, and cuts off longer ones", async () => {
    const held = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const handler: ListenOptions["handler"] = (req, res) => {
      arrived.resolve();
      if (req.url === "/held") void held.promise.then(() => res.end("late"));
    };
    const [port = 0] = await start({ handler });
    const answer = fetch(`http://127.0.0.1:${port}/held`);
    await arrived.promise;
    const drained = listener?.drain(0, 10_000);
    held.resolve();
    expect(await (await answer).text()).toBe("late");
    await drained;

    const hanging = Promise.withResolvers<void>();
    const [second = 0] = await start({ handler: () => hanging.resolve() });
    const cut = fetch(`http://127.0.0.1:${second}/`);
    await hanging.promise;
    const closed = listener?.drain(0, 30);
    await expect(cut).rejects.toThrow();
    await closed;
  });

  test("closes a connection that sends a slow or too large header", async () => {
    const [port = 0] = await start({ times: { headers: 100, request: 100, checking: 20, idle: 150 } });
    expect(await rawRequest(port, "GET / HTTP/1.1\r\nHost: x\r\n", 1500)).toMatch(/^HTTP\/1.1 408/);
    expect(await rawRequest(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(16 * 1024)}\r\n\r\n`)).toMatch(/^HTTP\/1.1 431/);
    expect(await rawRequest(port, `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ${"x".repeat(15 * 1024)}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 200/,
    );
  });
});
