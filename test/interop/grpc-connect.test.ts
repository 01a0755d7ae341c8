import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { Code, type ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { bodyBudget } from "../../src/body-budget.ts";
import { Refusal } from "../../src/errors.ts";
import { IntrospectionService } from "../../src/gen/countersign/introspection/v1/introspection_pb.ts";
import { CONNECT_PATHS, connectRoutes } from "../../src/grpc/connect-routes.ts";
import { localTokenCore } from "../../src/grpc/local.ts";
import { RS_BASIC, smallCore } from "../unit/grpc/small-core.ts";

const faults: unknown[] = [];
const { implementation, seen } = smallCore();
let server: Server;
let base: string;
beforeAll(async () => {
  const routes = connectRoutes({
    core: localTokenCore(implementation),
    issuer: "https://as.example.test",
    addressOf: () => "203.0.113.7",
    bodies: bodyBudget(),
    onFault: (fault) => faults.push(fault),
  });
  server = createServer((request, response) => {
    if (CONNECT_PATHS.has(request.url ?? "")) routes(request, response);
    else response.writeHead(404).end("no such service");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  expect(faults).toEqual([]);
});

const path = (method: string) => `${base}/countersign.introspection.v1.IntrospectionService/${method}`;
const post = (method: string, body: string | object, headers: Record<string, string> = {}) =>
  fetch(path(method), {
    method: "POST",
    headers: { "content-type": "application/json", authorization: RS_BASIC, ...headers },
    body: typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body),
  });

test.for(["2592000000", "9999999999"])("a call whose deadline is in %s ms is answered", async (timeout) => {
  const response = await post("Introspect", { token: "slow-100" }, { "connect-timeout-ms": timeout });
  expect([response.status, await response.json()]).toEqual([200, { active: false }]);
});

test("introspection over JSON uses the member names of RFC 7662", async () => {
  const response = await post("Introspect", { token: "live-alice" });
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect(await response.json()).toEqual({
    active: true,
    sub: "alice",
    client_id: "c",
    scope: "a b",
    aud: ["https://rs.example.test"],
    exp: 2_000_000_000,
    token_type: "Bearer",
    act: { sub: "agent", act: { sub: "first" } },
  });
  expect(seen).toContain("203.0.113.7");
});

test("an inactive token is exactly {active:false}, alone and in a batch", async () => {
  expect(await (await post("Introspect", { token: "x" })).json()).toEqual({ active: false });
  const { responses } = (await (await post("IntrospectBatch", { requests: [{ token: "x" }, { token: "live-b" }] })).json()) as {
    responses: object[];
  };
  expect(responses).toEqual([{ active: false }, expect.objectContaining({ active: true, sub: "b" })]);
});

test.for([
  ["no credential", ""],
  ["a wrong secret", `Basic ${btoa("rs:wrong")}`],
  ["a bearer token", "Bearer live-alice"],
] as const)("a request with %s is refused with 401, a challenge and the OAuth error code in its details", async ([, authorization]) => {
  const response = await post("Introspect", { token: "live-alice" }, { authorization });
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toBe('Basic realm="https://as.example.test", charset="UTF-8"');
  const { code, details } = (await response.json()) as { code: string; details: { type: string; value: string }[] };
  expect([code, details[0]?.type, atob(details[0]?.value ?? "")]).toEqual([
    "unauthenticated",
    "countersign.errors.v1.ErrorDetail",
    expect.stringContaining("invalid_client"),
  ]);
});

test.for([
  ["no token", {}, 400],
  ["malformed JSON", "{", 400],
  ["a token that is not a string", { token: 7 }, 400],
  ["101 tokens", undefined, 400],
  ["a token of 64 KiB", { token: "x".repeat(64 * 1024) }, 429], // Connect's status for resource_exhausted
] as const)("rejects %s", async ([, body, status]) => {
  const response = body
    ? await post("Introspect", body)
    : await post("IntrospectBatch", { requests: Array.from({ length: 101 }, () => ({ token: "t" })) });
  expect(response.status).toBe(status);
  expect(await response.json()).toHaveProperty("code");
});

test.for(["Introspect", "IntrospectBatch", "VerifyApiKey"])("rejects a message of %s that is no protobuf with 400", async (method) => {
  for (const byte of [0x00, 0x0a, 0x7b, 0xff]) {
    const response = await post(method, new Blob([Buffer.alloc(9_999, byte)]), { "content-type": "application/proto" });
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: "invalid_argument" })]);
  }
});

test("accepts a batch of 1 MiB, and rejects a larger one", async () => {
  const requests = Array.from({ length: 16 }, () => ({ token: "x".repeat(65_000) }));
  expect((await post("IntrospectBatch", { requests })).status).toBe(200);
  expect((await post("IntrospectBatch", { requests: [...requests, { token: "x".repeat(9_000) }] })).status).toBe(429);
});

test.for([
  ["no credential", {}],
  ["a wrong secret", { authorization: `Basic ${btoa("rs:wrong")}` }],
] as const)("rejects a batch of more than 64 KiB with %s before its body arrives", async ([, credential]) => {
  const headers = { "content-type": "application/json", "content-length": 1_000_000, ...credential };
  const request = httpRequest(path("IntrospectBatch"), { method: "POST", headers });
  request.flushHeaders();
  const [answer] = await once(request, "response");
  request.destroy();
  expect(answer.statusCode).toBe(429);
});

test("rejects a batch of more than 64 KiB with 503 while no core answers", async () => {
  const routes = connectRoutes({
    core: {
      ...localTokenCore(implementation),
      introspect: async () => {
        throw new Refusal("temporarily_unavailable", "core_away");
      },
    },
    issuer: "https://as.example.test",
    addressOf: () => "203.0.113.7",
    bodies: bodyBudget(),
    onFault: (fault) => faults.push(fault),
  });
  const away = createServer(routes).listen(0, "127.0.0.1");
  onTestFinished(() => void away.close());
  await once(away, "listening");
  const { port } = away.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}${new URL(path("IntrospectBatch")).pathname}`;
  const body = JSON.stringify({ requests: [{ token: "x".repeat(65_536) }] });
  const { status } = await fetch(url, { method: "POST", headers: { "content-type": "application/json", authorization: RS_BASIC }, body });
  expect(status).toBe(503);
});

test("rejects a body with 503 while others that are arriving use up the budget, and closes its connection", async () => {
  const core = localTokenCore(implementation);
  const options = { core, issuer: "https://as.example.test", addressOf: () => "203.0.113.7", bodies: bodyBudget(30 * 1024) };
  const small = createServer(connectRoutes({ ...options, onFault: (fault) => faults.push(fault) })).listen(0, "127.0.0.1");
  onTestFinished(() => {
    small.closeAllConnections();
    small.close();
  });
  await once(small, "listening");
  const { port } = small.address() as AddressInfo;
  const { pathname } = new URL(path("Introspect"));
  const send = (body: string) =>
    fetch(`http://127.0.0.1:${port}${pathname}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: RS_BASIC },
      body,
    });
  const long = JSON.stringify({ token: "x".repeat(20_000) });
  for (const framing of ["Content-Length: 60000", "Transfer-Encoding: chunked"]) {
    const slow = connect(port, "127.0.0.1");
    slow.write(`POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`);
    slow.write(framing.endsWith("chunked") ? `7530\r\n${" ".repeat(30_000)}\r\n` : " ".repeat(30_000));
    await expect.poll(async () => (await send(long)).status).toBe(503);
    const { headers } = await send(long);
    expect([headers.get("retry-after"), headers.get("connection")]).toEqual(["1", "close"]);
    expect((await send(JSON.stringify({ token: "x".repeat(8000) }))).status).toBe(200);
    slow.destroy();
    await expect.poll(async () => (await send(long)).status).toBe(200);
  }
});

test("rejects compressed bodies with 415, and does not compress responses", async () => {
  const zipped = await post("Introspect", new Blob([gzipSync(JSON.stringify({ token: "live-a" }))]), { "content-encoding": "gzip" });
  expect(zipped.status).toBe(415);
  const plain = await post("Introspect", { token: "live-a" }, { "accept-encoding": "gzip, br" });
  expect(plain.headers.get("content-encoding")).toBeNull();
});

test("a request with two credentials is refused with 401", async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(path("Introspect"), { method: "POST" }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject);
    request.setHeader("content-type", "application/json");
    request.setHeader("authorization", [RS_BASIC, `Basic ${btoa("rs:wrong")}`]);
    request.end('{"token":"live-a"}');
  });
  expect(status).toBe(401);
});

test.for([
  ["a request of HTTP/1.0 without Host", "1.0", []],
  ["an empty Host", "1.1", ["Host:"]],
  ["a Host that is none", "1.1", ["Host: a b"]],
  ["a Host with an impossible port", "1.1", ["Host: a:b"]],
] as const)("%s is refused with 400, and the next request is answered", async ([, version, headers]) => {
  const socket = connect(Number(new URL(base).port), "127.0.0.1");
  const fields = [...headers, "Content-Type: application/json", "Content-Length: 2"];
  socket.write(`POST ${new URL(path("Introspect")).pathname} HTTP/${version}\r\n${fields.join("\r\n")}\r\n\r\n{}`);
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain(JSON.stringify({ code: "invalid_argument", message: "Host is missing or malformed." }));
  expect((await post("Introspect", { token: "live-a" })).status).toBe(200);
});

test("a fault before the library reads a request is reported, and answered with 503", async () => {
  const reported: unknown[] = [];
  const fault = new Error("no address");
  const routes = connectRoutes({
    core: localTokenCore(implementation),
    issuer: "https://as.example.test",
    addressOf: () => {
      throw fault;
    },
    bodies: bodyBudget(),
    onFault: (...all) => reported.push(all),
  });
  const faulty = createServer(routes).listen(0, "127.0.0.1");
  onTestFinished(() => void faulty.close());
  await once(faulty, "listening");
  const { port } = faulty.address() as AddressInfo;
  const { status, headers } = await fetch(`http://127.0.0.1:${port}${new URL(path("Introspect")).pathname}`, { method: "POST" });
  expect([status, headers.get("retry-after"), reported]).toEqual([503, "1", [[fault, "connect"]]]);
});

test("gRPC-Web reaches the same service", async () => {
  const client = createClient(IntrospectionService, createGrpcWebTransport({ baseUrl: base, httpVersion: "1.1" }));
  expect(await client.introspect({ token: "live-web" }, { headers: { authorization: RS_BASIC } })).toMatchObject({
    active: true,
    sub: "web",
  });
  const refused = await client.introspect({ token: "live-web" }).catch((thrown: unknown) => thrown);
  expect((refused as ConnectError).code).toBe(Code.Unauthenticated);
  const late = await client.introspect({ token: "slow-1500" }, { headers: { authorization: RS_BASIC } }).catch((thrown: unknown) => thrown);
  expect((late as ConnectError).code).toBe(Code.Unavailable);
});

test("other methods and paths are not served", async () => {
  expect((await fetch(path("Introspect"))).status).toBe(405);
  expect(await (await post("WatchNothing", {})).text()).toBe("no such service");
  expect(await (await fetch(`${base}/countersign.token.v1.TokenCoreService/PublicKeys`, { method: "POST" })).text()).toBe(
    "no such service",
  );
});
