import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { runText } from "../support/database.ts";
import { asProcess1, beginProcess, cheapHashes, endProcesses, pause, type ServiceProcess, startProcess } from "../support/processes.ts";
import { startServer } from "../support/server.ts";
import { wireTo } from "../support/wire.ts";

afterEach(endProcesses);

const health = async ({ url }: ServiceProcess, path = "/health") => {
  const response = await fetch(url + path);
  return [response.status, (await response.json()) as { status: string; services?: object }] as const;
};
const ALL_WELL = { database: "connected", redis: "connected", core: "connected" };
const drains = (server: ServiceProcess) => expect.poll(() => health(server)).toEqual([503, { status: "draining", services: ALL_WELL }]);

describe("R11: shutdown", () => {
  test("SIGTERM: health reports draining at once, requests are served for 5 s, open requests finish, gRPC sends GOAWAY, and the process exits with 0", async () => {
    const server = await startProcess({});
    await expect.poll(() => health(server)).toEqual([200, { status: "ok", services: ALL_WELL }]);
    expect(await health(server, "/health/live")).toEqual([200, { status: "ok" }]);
    const session = connectHttp2(`http://${server.grpc}`);
    let goaway: number | undefined;
    session.on("error", () => undefined);
    session.on("goaway", (code: number) => {
      goaway = code;
    });
    await once(session, "connect");
    // A request with a slow body is open when the listener closes.
    const slow = connect(Number(new URL(server.url).port), "127.0.0.1");
    let answer = "";
    slow.on("data", (chunk) => {
      answer += chunk.toString();
    });
    const form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 12";
    slow.write(`POST /oauth/token HTTP/1.1\r\nHost: x\r\n${form}\r\n\r\ngrant_`);

    const home = async () => {
      const response = await fetch(`${server.url}/`);
      await response.arrayBuffer(); // the next request is on this connection
      return [response.status, response.headers.get("connection")];
    };
    const began = performance.now();
    server.child.kill("SIGTERM");
    await drains(server);
    expect((await health(server, "/health/live"))[0]).toBe(200);
    const seen = [];
    for (let last = await home(); seen.push(last) && last[1] !== "close"; last = await home()) await pause(100);
    expect(performance.now() - began).toBeGreaterThan(5000);
    expect(seen.slice(0, -1).filter(([status, connection]) => status !== 200 || connection !== "keep-alive")).toEqual([]);
    expect([seen.length > 1, seen.at(-1)]).toEqual([true, [200, "close"]]); // still answered where the connection was open
    await expect.poll(() => fetch(`${server.url}/`).catch(() => "closed")).toBe("closed");
    slow.write("type=x");
    await once(slow, "close");
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*unsupported_grant_type/);
    expect(await server.ended).toBe(0);
    await expect.poll(() => goaway).toBe(0);
    expect(server.said()).not.toMatch(/"level":50/);
  });

  test("background work stops while requests are still open, and another process can continue it", async () => {
    const env = { AUDIT_STREAM: "http://127.0.0.1:1/", AUDIT_STREAM_SECRET: "a-secret-of-at-least-32-characters" };
    const server = await startServer({ env, shape: "one" });
    const isLeased = (leased: boolean) =>
      vi.waitFor(
        async () =>
          expect(await runText(server.database.sql, "select leased_until > now() as leased from audit_stream")).toEqual([{ leased }]),
        10_000,
      );
    await isLeased(true);
    const open = connect(Number(new URL(server.url).port), "127.0.0.1");
    const form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 12";
    open.write(`POST /oauth/token HTTP/1.1\r\nHost: x\r\n${form}\r\nExpect: 100-continue\r\n\r\n`);
    await once(open, "data");
    const answered = once(open, "data");
    const closed = server.close();
    await isLeased(false);
    open.write("grant_type=x");
    expect(String((await answered)[0])).toContain("unsupported_grant_type");
    await closed;
  });

  test("SIGHUP to a process without WORKERS ends it as SIGINT does: an open request finishes, and it exits with 0", async () => {
    const server = await startProcess({});
    const open = connect(Number(new URL(server.url).port), "127.0.0.1");
    const form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 12";
    open.write(`POST /oauth/token HTTP/1.1\r\nHost: x\r\n${form}\r\nExpect: 100-continue\r\n\r\n`);
    await once(open, "data");
    const answered = once(open, "data");
    server.child.kill("SIGHUP");
    await expect.poll(() => fetch(`${server.url}/`).catch(() => "closed"), { timeout: 10_000 }).toBe("closed");
    open.write("grant_type=x");
    expect(String((await answered)[0])).toContain("unsupported_grant_type");
    expect(await server.ended).toBe(0);
  });

  test("a second signal exits with 1 at once", async () => {
    const server = await startProcess({});
    server.child.kill("SIGTERM");
    await drains(server); // signals that arrive together are one
    server.child.kill("SIGTERM");
    expect(await server.ended).toBe(1); // a graceful exit would be 0
  });

  test("process 1 of a container, which the kernel ends by no signal, ends by one before it serves, and in order once it does", async () => {
    const silent = createServer().listen(0, "127.0.0.1"); // a database that does not answer
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const [, starting] = await Promise.all([
      once(silent, "connection"),
      beginProcess({ DATABASE_URL: `postgres://x@127.0.0.1:${port}/x`, ...asProcess1() }),
    ]);
    starting.child.kill("SIGTERM");
    expect(await starting.ended).toBe(128 + 15);
    silent.close();

    const server = await startProcess(asProcess1());
    server.child.kill("SIGINT");
    expect(await server.ended).toBe(0);
  });

  test("the service keeps running when the reader of its standard output is closed", async () => {
    const server = await startProcess({ LOG_LEVEL: "debug" });
    server.child.stdout?.destroy();
    server.child.stderr?.destroy();
    for (let index = 0; index < 50; index++) expect((await fetch(`${server.url}/`)).status).toBe(200);
    server.child.kill("SIGINT");
    const [code] = await once(server.child, "exit");
    expect(code).toBe(0);
  });
});

describe("R12: health without Redis", () => {
  test("returns 200 with degraded, sign-up and sign-in work, and limits are counted in the process", async () => {
    const wire = await wireTo("127.0.0.1", 9);
    await wire.cut();
    const REDIS_URL = `redis://127.0.0.1:${wire.port}`;
    const server = await startProcess({ REDIS_URL, REGISTER_CLIENT_RATE_LIMIT: "3", ...cheapHashes() });
    await expect.poll(() => health(server)).toEqual([200, { status: "degraded", services: { ...ALL_WELL, redis: "disconnected" } }]);
    const json = { "content-type": "application/json" };
    const register = () =>
      fetch(`${server.url}/oauth/register`, { method: "POST", headers: json, body: '{"redirect_uris":["https://a.example.test/cb"]}' });
    const statuses = [];
    for (let index = 0; index < 4; index++) statuses.push((await register()).status);
    expect(statuses).toEqual([201, 201, 201, 429]);
    const body = JSON.stringify({ email: "ada@example.test", password: "correct horse battery staple" });
    expect((await fetch(`${server.url}/auth/register`, { method: "POST", headers: json, body })).status).toBe(201);
    expect((await fetch(`${server.url}/auth/login`, { method: "POST", headers: json, body })).status).toBe(200);
  });
});
