import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { apiErrorPrinter, sendJson } from "../../src/front/http/answers.ts";
import { createApp } from "../../src/front/http/app.ts";
import type { Route } from "../../src/front/http/routes.ts";
import { endingWithReader, type FrontListener, type ListenerTimes, listen } from "../../src/front/http/server.ts";
import type { Lifecycle } from "../../src/front/http/steps.ts";
import { ISSUER, rawRequest } from "../support/front.ts";
import { rawBytes } from "../support/raw.ts";

let listener: FrontListener | undefined;
let largeRequests = 0;
/** Requests of /counted: all, those that run, and the most that ran at a time. */
let [counted, running, most] = [0, 0, 0];
/** They wait for it. */
let gate = Promise.resolve();
afterEach(() => listener?.drain(0, 0));

async function start(host: string, times: Partial<ListenerTimes> = {}): Promise<{ port: number; life: Lifecycle; front: FrontListener }> {
  const life: Lifecycle = { draining: false };
  const print = apiErrorPrinter(ISSUER);
  const routes: readonly Route[] = [
    { method: "GET", path: "/quick", print, answer: (ctx) => sendJson(ctx, {}) },
    {
      method: "GET",
      path: "/slow",
      print,
      async answer(ctx) {
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        sendJson(ctx, { slow: true });
      },
    },
    { method: "GET", path: "/never", print, answer: () => new Promise<void>(() => {}) },
    {
      method: "GET",
      path: "/counted",
      print,
      async answer(ctx) {
        counted += 1;
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        await gate;
        running -= 1;
        sendJson(ctx, {});
      },
    },
    {
      method: "GET",
      path: "/large",
      print,
      answer: (ctx) => {
        largeRequests += 1;
        ctx.body = Buffer.alloc(64 * 1024 * 1024);
      },
    },
  ];
  const telemetry = { observe: () => {}, fault: () => {}, refused: () => {} };
  const listeners = new Map([["/waiting", endingWithReader((_, response) => setTimeout(() => response.end("waited"), 300))]]);
  const app = createApp({ issuer: ISSUER, routes, listeners, telemetry, lifecycle: life, requestId: () => "r", addressOf: () => "" });
  const front = await listen({ handler: app, host, port: 0, lifecycle: life, times });
  listener = front;
  return { port: front.addresses[0]?.port ?? 0, life, front };
}

/** Waits until the server ends a connection on which `drip` is called every 50 ms. */
const untilClosed = (port: number, drip: (write: (bytes: string) => void) => void, paused = false): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      const timer = setInterval(() => drip((bytes) => socket.writable && socket.write(bytes)), 50);
      socket.on("close", () => {
        clearInterval(timer);
        resolve();
      });
    });
    socket.on("error", () => {});
    if (paused) socket.pause();
    else socket.resume();
  });

describe("the listener", () => {
  test("serves both loopback addresses for localhost, on one port", async () => {
    const { front } = await start("localhost");
    expect(new Set(front.addresses.map(({ port }) => port)).size).toBe(1);
    for (const { address, port } of front.addresses) {
      const host = address.includes(":") ? `[${address}]` : address;
      expect((await fetch(`http://${host}:${port}/quick`)).status).toBe(200);
    }
  });

  test("rejects with EADDRINUSE when the address is in use", async () => {
    const { port, life } = await start("127.0.0.1");
    await expect(listen({ handler: () => {}, host: "127.0.0.1", port, lifecycle: life })).rejects.toThrow(/EADDRINUSE/);
  });

  test("closes connections that send headers slowly, while others are served", async () => {
    const { port } = await start("127.0.0.1", { checking: 50, headers: 300, request: 400 });
    const head = "GET /quick HTTP/1.1\r\nX-Slow: ";
    let sent = 0;
    const slow = Array.from({ length: 20 }, () => untilClosed(port, (write) => write(head[sent++] ?? "x")));
    expect((await fetch(`http://127.0.0.1:${port}/quick`)).status).toBe(200);
    await Promise.all(slow); // resolves only when the server has closed every one of them
    expect((await fetch(`http://127.0.0.1:${port}/quick`)).status).toBe(200);
  });

  test("closes connections that send a body slowly", async () => {
    const { port } = await start("127.0.0.1", { checking: 50, headers: 300, request: 400 });
    const head = "POST /quick HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n";
    let first = true;
    const cut = untilClosed(port, (write) => {
      write(first ? head : "x");
      first = false;
    });
    await cut; // resolves only when the server has closed it
    expect((await fetch(`http://127.0.0.1:${port}/quick`)).status).toBe(200);
  });

  test("closes connections that read nothing", async () => {
    const { port } = await start("127.0.0.1", { idle: 300 });
    const before = largeRequests;
    let asked = false;
    const ask = (write: (bytes: string) => void) => {
      if (!asked) write("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
      asked = true;
    };
    const ended = untilClosed(port, ask, true);
    await expect.poll(() => asked && largeRequests > before).toBe(true);
    // A paused socket does not notice that it was closed; drain() resolves once the server has closed it.
    await listener?.drain(0, 120_000);
    void ended;
  });

  test("RFC 9112 §9.3.2: answers a few requests that are sent ahead one by one, and closes a connection with more of them", async () => {
    const { port } = await start("127.0.0.1");
    const request = "GET /counted HTTP/1.1\r\nHost: x\r\n\r\n";
    const few = await rawRequest(port, `${request.repeat(15)}GET /counted HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect([few.split("HTTP/1.1 200 ").length - 1, counted, most]).toEqual([16, 16, 1]);
    const held = Promise.withResolvers<void>();
    gate = held.promise; // so that those ahead are as many as were sent, however slowly they arrive
    let sent = false;
    await untilClosed(port, (write) => {
      if (!sent) write(request.repeat(5_000));
      sent = true;
    });
    held.resolve();
    expect((await fetch(`http://127.0.0.1:${port}/quick`)).status).toBe(200);
    expect(counted).toBe(16 + 1);
  });

  test("answers every request of a client that ends its side after sending them, and then ends its own", async () => {
    const { port } = await start("127.0.0.1");
    const request = "GET /counted HTTP/1.1\r\nHost: x\r\n\r\n";
    const answers = await rawBytes(`http://127.0.0.1:${port}`, Buffer.from(request.repeat(16)), true);
    expect(answers.split("HTTP/1.1 200 ").length - 1).toBe(16);
    const slow = await rawBytes(`http://127.0.0.1:${port}`, Buffer.from("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"), true);
    expect(slow).toContain('{"slow":true}');
    const unfinished = Buffer.from("POST /quick HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx");
    expect(await rawBytes(`http://127.0.0.1:${port}`, unfinished, true)).not.toContain(" 200 ");
  });

  test("a handler that ends with its reader answers no reader who has ended their side, even before it began", async () => {
    const { port } = await start("127.0.0.1");
    const request = (path: string, more = "") => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
    expect(await rawBytes(`http://127.0.0.1:${port}`, request("/waiting", "Connection: close\r\n"))).toContain("waited");
    expect(await rawBytes(`http://127.0.0.1:${port}`, request("/waiting"), true)).toBe("");
    const both = await rawBytes(`http://127.0.0.1:${port}`, Buffer.concat([request("/slow"), request("/waiting")]), true);
    expect([both.includes('{"slow":true}'), both.includes("waited")]).toEqual([true, false]);
  });

  test("accepts 99 headers and returns 431 to 102", async () => {
    const { port } = await start("127.0.0.1");
    const statusWith = async (count: number) => {
      const lines = Array.from({ length: count - 1 }, (_, n) => `X-N-${n}: 1\r\n`).join("");
      return (await rawRequest(port, `GET /quick HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`)).slice(9, 12);
    };
    expect([await statusWith(99), await statusWith(102)]).toEqual(["200", "431"]);
  });

  test("returns 431 to headers over 16 KiB", async () => {
    const { port } = await start("127.0.0.1");
    expect(await rawRequest(port, `GET /quick HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(17_000)}\r\n\r\n`)).toMatch(/^HTTP\/1.1 431 /);
  });
});

describe("draining", () => {
  test("serves requests during the notice, finishes open requests, then refuses connections", async () => {
    const { port, life, front } = await start("127.0.0.1", { keepAlive: 300 });
    const slow = fetch(`http://127.0.0.1:${port}/slow`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const drained = front.drain(2_000, 5000);
    expect(life.draining).toBe(true);
    const during = await fetch(`http://127.0.0.1:${port}/quick`);
    expect([during.status, during.headers.get("connection")]).toEqual([200, "keep-alive"]);
    expect(await (await slow).json()).toEqual({ slow: true });
    await drained;
    await expect(fetch(`http://127.0.0.1:${port}/quick`)).rejects.toThrow();
  });

  test("a connection that is open when the notice ends carries one more request, and is closed with its response", async () => {
    const { port, life, front } = await start("127.0.0.1", { keepAlive: 2_000 });
    const socket = connect(port, "127.0.0.1");
    const request = "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n";
    const answer = () => new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(bytes.toString())));
    socket.write(request);
    await answer();
    const drained = front.drain(1, 5000);
    while (!life.leaving) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 100)); // the sweep of idle connections has run
    socket.write(request);
    expect(await answer()).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close/i);
    await drained;
  });

  test("a connection on which nothing was sent, as browsers open them in advance, delays nothing", async () => {
    const { port, front } = await start("127.0.0.1", { headers: 120_000, request: 120_000, idle: 120_000 });
    const silent = connect(port, "127.0.0.1");
    const ended = new Promise((resolve) => silent.once("close", resolve));
    await fetch(`http://127.0.0.1:${port}/quick`); // after which the server has accepted both connections
    await front.drain(0, 120_000);
    await ended;
  });

  test("closes the connections of requests that do not finish within the grace", async () => {
    const { port, front } = await start("127.0.0.1");
    const never = fetch(`http://127.0.0.1:${port}/never`).then(
      () => "answered",
      () => "cut",
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    await front.drain(0, 200);
    expect(await never).toBe("cut");
  });
});
