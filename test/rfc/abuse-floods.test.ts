import { connect, type Socket } from "node:net";
import { expect } from "vitest";
import { describe, testOn } from "../support/server.ts";

/** As an operator gets it: with the limits that nobody has set. */
const test = testOn({ env: { REGISTER_CLIENT_RATE_LIMIT: "30" } });

describe("floods", () => {
  test("abuse 52: the 31st registration of an address in 60 s is 429, whatever it says it was forwarded for", async ({ server }) => {
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

  test("abuse 71: 500 connections at one header byte a second are cut within 15 s, and others are served meanwhile", async ({ server }) => {
    const started = performance.now();
    const sockets: Socket[] = [];
    const closed = Array.from({ length: 500 }, () => {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      sockets.push(socket);
      socket.on("error", () => undefined).resume();
      socket.write("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
      return new Promise<number>((resolve) => socket.on("close", () => resolve(performance.now() - started)));
    });
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write("a");
    }, 1000);
    const waits: number[] = [];
    let open = true;
    const others = (async () => {
      while (open) {
        const asked = performance.now();
        expect((await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" })).status).toBe(200);
        waits.push(performance.now() - asked);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const times = await Promise.all(closed);
    clearInterval(drip);
    open = false;
    await others;
    expect(Math.max(...times)).toBeLessThan(15_000);
    expect(waits.sort((one, other) => one - other)[Math.floor(waits.length / 2)]).toBeLessThan(1000);
    expect(server.faults()).toEqual([]);
  });
});

describe("R6: a front that is busy", () => {
  test("600 bodies that never come take no place from others", async ({ server }) => {
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
});
