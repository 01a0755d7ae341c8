import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { status } from "@grpc/grpc-js";
import { expect, onTestFinished } from "vitest";
import { describe, testOn } from "../support/server.ts";

/** With the default limit of client registrations. */
const test = testOn({ env: { REGISTER_CLIENT_RATE_LIMIT: "30" } });

describe("floods of registrations and connections", () => {
  test("abuse 52: the 31st client registration from one address within 60 s returns 429 with Retry-After, whatever X-Forwarded-For says", async ({
    server,
  }) => {
    const register = (index: number) =>
      fetch(`${server.url}/oauth/register`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-forwarded-for": `198.51.100.${index}`, forwarded: `for=198.51.100.${index}` },
        body: JSON.stringify({ redirect_uris: ["https://a.example.test/cb"], token_endpoint_auth_method: "none" }),
      });
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => register(index)));
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(201));
    const refused = await register(31);
    expect([refused.status, await refused.json()]).toMatchObject([429, { error: "too_many_requests" }]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(60);
  });

  test("abuse 71: 500 connections that send one header byte a second are closed within 15 s, and other requests succeed during that time", async ({
    server,
  }) => {
    const sockets: Socket[] = [];
    const closed = Array.from({ length: 500 }, () => {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      sockets.push(socket);
      socket.on("error", () => undefined).resume();
      socket.write("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
      return new Promise<void>((resolve) => socket.on("close", () => resolve()));
    });
    const drip = setInterval(() => {
      dripped += 1;
      for (const socket of sockets) if (socket.writable) socket.write("a");
    }, 1000);
    let servedDuringFlood = 0;
    let dripped = 0;
    let open = true;
    const others = (async () => {
      while (open) {
        expect((await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" })).status).toBe(200);
        if (sockets.every((socket) => !socket.closed)) servedDuringFlood += 1;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    await Promise.all(closed);
    clearInterval(drip);
    open = false;
    await others;
    expect(dripped).toBeLessThan(15);
    expect(servedDuringFlood).toBeGreaterThan(10);
    expect(server.faults()).toEqual([]);
  });
});

describe("R6: a busy front", () => {
  test("600 requests with unfinished bodies do not block token requests", async ({ server }) => {
    const head =
      "POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ngrant_";
    const sockets = await Promise.all(
      Array.from({ length: 600 }, async () => {
        const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
        socket.on("error", () => undefined).resume();
        await new Promise((resolve) => socket.write(head, resolve));
        return socket;
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (let index = 0; index < 5; index++) {
      const answer = await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" });
      expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    }
    for (const socket of sockets) socket.destroy();
    expect(server.faults()).toEqual([]);
  });

  test("of long requests over gRPC that do not end, as many are refused as 64 MiB do not hold, and short ones are answered", async ({
    server,
  }) => {
    const open = (): ClientHttp2Session => {
      const session = connectHttp2(`http://${server.grpc}`, { maxSessionMemory: 500 });
      onTestFinished(() => session.destroy());
      return session;
    };
    /** Sends a message in full or all but its end. @returns the status of the answer */
    const call = (session: ClientHttp2Session, length: number, whole: boolean): Promise<number> => {
      const path = "/countersign.introspection.v1.IntrospectionService/Introspect";
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" });
      const message = Buffer.alloc(5 + length - (whole ? 0 : 1));
      message.writeUInt32BE(length, 1);
      stream.on("error", () => undefined).resume();
      if (whole) stream.end(message);
      else stream.write(message);
      return new Promise((resolve) => stream.on("response", (headers) => resolve(Number(headers["grpc-status"]))));
    };
    const flood = open();
    const refused = Promise.race(Array.from({ length: 80 }, () => call(flood, 1_100_000, false)));
    expect(await refused).toBe(status.UNAVAILABLE);
    expect(await call(open(), 0, true)).toBe(status.UNAUTHENTICATED);
    expect(server.faults()).toEqual([]);
  });
});
