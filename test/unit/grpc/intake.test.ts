import { readFile } from "node:fs/promises";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { Client, credentials, Server, ServerCredentials, type ServerDuplexStream, type ServerWritableStream, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { bodyBudget } from "../../../src/body-budget.ts";
import { IntrospectionService } from "../../../src/gen/countersign/introspection/v1/introspection_pb.ts";
import { TokenCoreService } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { methodPath } from "../../../src/grpc/definition.ts";
import { intake, oldestGiveWay } from "../../../src/grpc/intake.ts";
import { startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore } from "../../../src/grpc/local.ts";
import { smallCore } from "./small-core.ts";

const server = new Server({ interceptors: [intake(150, bodyBudget(64 * 1024, 0), bodyBudget(64 * 1024, 0))] });
const bytes = (buffer: Buffer) => buffer;
const echo = (call: { request: Buffer }, done: (error: null, answer: Buffer) => void) => done(null, call.request);
let port = 0;
beforeAll(async () => {
  server.register("/echo.Echo/Echo", echo, bytes, bytes, "unary");
  server.register("/grpc.test.Echo/Echo", (call: ServerDuplexStream<Buffer, Buffer>) => void call.resume(), bytes, bytes, "bidi");
  port = await new Promise<number>((resolve) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
  );
});
afterAll(() => server.forceShutdown());

async function statusOf(
  headers: Record<string, string>,
  send: (write: (chunk: Buffer) => void, end: () => void) => void,
  at: number = port,
) {
  const session = connect(`http://127.0.0.1:${at}`);
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: "/echo.Echo/Echo",
    "content-type": "application/grpc",
    ...headers,
  });
  stream.on("error", () => undefined);
  const answered = new Promise<{ status: number; accepts: unknown }>((resolve) => {
    let accepts: unknown;
    stream.on("response", (response) => {
      accepts = response["grpc-accept-encoding"];
      if (response["grpc-status"] !== undefined) resolve({ status: Number(response["grpc-status"]), accepts });
    });
    stream.on("trailers", (trailers) => resolve({ status: Number(trailers["grpc-status"]), accepts }));
  });
  stream.resume();
  send(
    (chunk) => stream.write(chunk),
    () => stream.end(),
  );
  const answer = await answered;
  session.destroy();
  return answer;
}
const MESSAGE = Buffer.from([0, 0, 0, 0, 1, 7]);
const whole = (write: (chunk: Buffer) => void, end: () => void) => {
  write(MESSAGE);
  end();
};

test("an uncompressed request is answered with the accepted encodings", async () => {
  expect(await statusOf({}, whole)).toEqual({ status: 0, accepts: "identity" });
  expect((await statusOf({ "grpc-encoding": "identity" }, whole)).status).toBe(0);
});

test.for(["gzip", "deflate", "br"])("a request with the encoding %s is refused with UNIMPLEMENTED", async (encoding) => {
  expect((await statusOf({ "grpc-encoding": encoding }, whole)).status).toBe(12);
});

test("an incomplete request is refused at its deadline", async () => {
  expect((await statusOf({}, (write) => write(MESSAGE.subarray(0, 5)))).status).toBe(4);
  expect((await statusOf({}, (write) => write(MESSAGE))).status).toBe(4);
});

test.for(["/echo.Echo/Echo", "/grpc.test.Echo/Echo"])("an incomplete request to %s is closed at its deadline", async (path) => {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  stream.on("error", () => undefined).resume();
  stream.write(MESSAGE.subarray(0, 5));
  await new Promise((resolve) => stream.once("close", resolve));
  expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  session.destroy();
});

/** A server for which a request may arrive slowly. */
async function aPatientServer(offer: (server: Server) => void, ...answered: ReturnType<typeof oldestGiveWay>[]): Promise<number> {
  const patient = new Server({ interceptors: [intake(15_000, bodyBudget(64 * 1024, 0), bodyBudget(64 * 1024, 0), ...answered)] });
  onTestFinished(() => patient.forceShutdown());
  offer(patient);
  return new Promise((resolve) => patient.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, bound) => resolve(bound)));
}

test("requests that have been arriving for longest make room for others, which a stranger with many streams does not keep out", async () => {
  const itsPort = await aPatientServer((patient) => patient.register("/echo.Echo/Echo", echo, bytes, bytes, "unary"));
  const session = connect(`http://127.0.0.1:${itsPort}`);
  onTestFinished(() => session.destroy());
  const refused: unknown[] = [];
  for (let count = 0; count < 40; count += 1) {
    const stream = session.request({ ":method": "POST", ":path": "/echo.Echo/Echo", "content-type": "application/grpc" });
    stream.on("error", () => undefined).on("response", (headers) => refused.push(headers["grpc-status"]));
  }
  await expect.poll(() => refused).toEqual(Array(24).fill(String(status.UNAVAILABLE)));
  expect((await statusOf({}, whole, itsPort)).status).toBe(status.OK);
});

test("requests that arrive in pieces of one byte take the room that their pieces keep", async () => {
  const itsPort = await aPatientServer((patient) => patient.register("/echo.Echo/Echo", echo, bytes, bytes, "unary"));
  const session = connect(`http://127.0.0.1:${itsPort}`);
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":method": "POST", ":path": "/echo.Echo/Echo", "content-type": "application/grpc" });
  const answered = new Promise((resolve) => stream.on("response", (headers) => resolve(headers["grpc-status"])));
  stream.on("error", () => undefined).resume();
  stream.write(Buffer.from([0, 0, 0, 4, 0])); // of 1024 bytes
  for (let piece = 0; piece < 1023 && stream.writable; piece += 1) await new Promise((resolve) => stream.write("a", resolve));
  if (stream.writable) stream.end("a");
  expect(await answered).toBe(String(status.UNAVAILABLE));
});

test("messages of a caller that does not read its answers wait, and are answered once it does", async () => {
  let [received, answered, mostUnanswered] = [0, 0, 0];
  // As @grpc/reflection answers: without waiting for its caller.
  const answer = (call: ServerDuplexStream<Buffer, Buffer>) => {
    call.on("data", () => {
      received += 1;
      mostUnanswered = Math.max(mostUnanswered, received - answered);
      call.write(Buffer.alloc(1_000), () => (answered += 1));
    });
  };
  const itsPort = await aPatientServer((patient) => patient.register("/grpc.test.Echo/Answer", answer, bytes, bytes, "bidi"));
  const session = connect(`http://127.0.0.1:${itsPort}`, { settings: { initialWindowSize: 0 } });
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":method": "POST", ":path": "/grpc.test.Echo/Answer", "content-type": "application/grpc" });
  stream.on("error", () => undefined);
  stream.write(Buffer.concat(Array(2_000).fill(MESSAGE)));
  await expect.poll(() => received).toBeGreaterThan(10);
  let bytesRead = 0;
  stream.on("data", ({ length }: Buffer) => (bytesRead += length));
  session.settings({ initialWindowSize: 65_535 });
  await expect.poll(() => bytesRead, { timeout: 10_000 }).toBe(2_000 * 1_005);
  expect(mostUnanswered).toBeLessThan(20);
});

test("streams whose caller does not read their answers are given up too, and closed, also those that it has ended", async () => {
  let received = 0;
  const answer = (call: ServerDuplexStream<Buffer, Buffer>) => {
    call.on("data", () => void call.write(Buffer.alloc(1_000))).once("data", () => (received += 1));
  };
  const itsPort = await aPatientServer((patient) => patient.register("/grpc.test.Echo/Answer", answer, bytes, bytes, "bidi"));
  const session = connect(`http://127.0.0.1:${itsPort}`, { settings: { initialWindowSize: 0 } });
  onTestFinished(() => session.destroy());
  const left = new Set<number>();
  for (let count = 0; count < 40; count += 1) {
    const stream = session.request({ ":method": "POST", ":path": "/grpc.test.Echo/Answer", "content-type": "application/grpc" });
    left.add(count);
    stream.on("error", () => undefined).once("close", () => left.delete(count));
    stream.write(Buffer.concat(Array(17).fill(MESSAGE)));
    if (count % 2 === 0) stream.end();
    await expect.poll(() => received).toBe(count + 1);
  }
  await expect.poll(() => [...left]).toEqual(Array.from({ length: 15 }, (_, at) => 25 + at));
});

test("a thousand streams of reflection may be open; the oldest make room for others", async () => {
  const core = localTokenCore(smallCore().implementation);
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, onFault: () => undefined });
  onTestFinished(() => listener.close(0));
  await listener.load();
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const [refused, closed]: [unknown[], unknown[]] = [[], []];
  for (let connection = 0; connection < 11; connection += 1) {
    const session = connect(`http://127.0.0.1:${listener.port}`, { settings: { initialWindowSize: 0 } });
    onTestFinished(() => session.destroy());
    for (let count = 0; count < 100; count += 1) {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
      stream.on("error", () => undefined).on("response", (headers) => refused.push(headers["grpc-status"]));
      stream.once("close", () => closed.push(connection)).resume();
    }
    await new Promise((resolve) => session.ping(resolve));
  }
  await expect.poll(() => closed).toEqual(Array(76).fill(0));
  expect(refused).toEqual(Array(76).fill(String(status.UNAVAILABLE)));
});

/** One that has room for ten answered streams of each kind. */
const aNarrowServer = (): Promise<number> =>
  aPatientServer(
    (patient) => {
      patient.register("/echo.Echo/Echo", echo, bytes, bytes, "unary");
      const watch = (call: ServerWritableStream<Buffer, Buffer>) => [1, 2].map(() => call.write(call.request));
      patient.register("/grpc.health.v1.Health/Watch", watch, bytes, bytes, "serverStream");
    },
    oldestGiveWay(10 * 17_000),
    oldestGiveWay(10 * 17_000),
  );

/** Opens streams one after the other, which begin to be answered. @returns the numbers of those that are open */
async function openStreams(session: ClientHttp2Session, path: string, most: number): Promise<ReadonlySet<number>> {
  const left = new Set<number>();
  for (let count = 0; count < most; count += 1) {
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
    left.add(count);
    stream.on("error", () => undefined).once("close", () => left.delete(count));
    stream.resume().end(MESSAGE);
    await new Promise((resolve) => stream.once("response", resolve));
  }
  return left;
}

const WATCH = "/grpc.health.v1.Health/Watch";

test.for([
  { path: "/echo.Echo/Echo", window: 0, what: "answers that their callers do not read" },
  { path: WATCH, window: 65_535, what: "streams that watch the health of services" },
])("$what give way to later ones, and are closed", async ({ path, window }) => {
  const itsPort = await aNarrowServer();
  const session = connect(`http://127.0.0.1:${itsPort}`, { settings: { initialWindowSize: window } });
  onTestFinished(() => session.destroy());
  const left = await openStreams(session, path, 40);
  await expect.poll(() => [...left]).toEqual(Array.from({ length: 10 }, (_, at) => 30 + at));
  expect((await statusOf({}, whole, itsPort)).status).toBe(status.OK);
});

test("answers that a stranger does not read close no stream that watches the health of a service", async () => {
  const itsPort = await aNarrowServer();
  const [watcher, stranger] = [
    connect(`http://127.0.0.1:${itsPort}`),
    connect(`http://127.0.0.1:${itsPort}`, { settings: { initialWindowSize: 0 } }),
  ];
  onTestFinished(() => [watcher, stranger].forEach((session) => void session.destroy()));
  const watching = await openStreams(watcher, WATCH, 1);
  const unread = await openStreams(stranger, "/echo.Echo/Echo", 40);
  await expect.poll(() => unread.size).toBe(10);
  await new Promise((resolve) => watcher.ping(resolve));
  expect(watching.size).toBe(1);
});

test("requests for which there is no room beside those that are arriving are refused and closed, until there is", async () => {
  const session = connect(`http://127.0.0.1:${port}`);
  const large = Buffer.alloc(48_000); // there is room for one
  large.writeUInt32BE(large.length, 1); // five bytes short of its end
  const opened = [1, 2].map(() => {
    const stream = session.request({ ":method": "POST", ":path": "/echo.Echo/Echo", "content-type": "application/grpc" });
    let answer: unknown;
    stream.on("error", () => undefined).on("response", (headers) => (answer = headers["grpc-status"]));
    stream.resume().write(large);
    return new Promise<unknown>((resolve) => stream.once("close", () => resolve(answer)));
  });
  expect(await Promise.race(opened)).toBe(String(status.UNAVAILABLE));
  expect((await Promise.all(opened)).toSorted()).toEqual([String(status.UNAVAILABLE), String(status.DEADLINE_EXCEEDED)]);
  session.destroy();

  // Streams count too, though nothing has arrived on them.
  const idle = connect(`http://127.0.0.1:${port}`);
  const answers = Array.from({ length: 20 }, () => {
    const stream = idle.request({ ":method": "POST", ":path": "/echo.Echo/Echo", "content-type": "application/grpc" });
    stream.on("error", () => undefined).resume();
    return new Promise<number>((resolve) => stream.once("response", (headers) => resolve(Number(headers["grpc-status"]))));
  });
  expect(await Promise.race(answers)).toBe(status.UNAVAILABLE);
  idle.destroy();

  const complete = Buffer.concat([large, Buffer.alloc(5)]);
  const send = async () => {
    const answer = await statusOf({}, (write, end) => {
      write(complete);
      end();
    });
    return answer.status;
  };
  await expect.poll(send).toBe(status.OK); // once the server has noticed that the others are gone
  expect([await send(), await send()]).toEqual([status.OK, status.OK]);
});

test.for([25, 30, 1_125])("a call whose deadline is in %d days is answered", async (days) => {
  const onFault = (fault: unknown) => {
    throw fault;
  };
  const core = localTokenCore(smallCore().implementation);
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, fronts: {}, onFault });
  onTestFinished(() => listener.close(0));
  const client = new Client(`127.0.0.1:${listener.port}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const deadline = Date.now() + days * 86_400_000;
  const path = methodPath(TokenCoreService.method.publicKeys);
  const answered = new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, bytes, bytes, Buffer.alloc(0), { deadline }, (error, answer) =>
      error ? reject(error) : resolve(answer),
    );
  });
  await expect(answered).resolves.toBeInstanceOf(Buffer);
});

test("no more connections are accepted than the listener may have", async () => {
  const core = localTokenCore(smallCore().implementation);
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, maxConnections: 1, onFault: () => undefined });
  onTestFinished(() => listener.close(0));
  const opened = () => {
    const session = connect(`http://127.0.0.1:${listener.port}`);
    onTestFinished(() => session.destroy());
    session.on("error", () => undefined);
    return new Promise<string>((resolve) =>
      session.once("remoteSettings", () => resolve("accepted")).once("close", () => resolve("closed")),
    );
  };
  expect([await opened(), await opened()]).toEqual(["accepted", "closed"]);
});

/** Connections that the system lets wait for a listener, where it says so. */
const longestQueue = () => readFile("/proc/sys/net/core/somaxconn", "utf8").then(Number, () => 128);

test("as many connections as the system lets wait, a thousand at most, can be opened at once, and none has to be tried again", async () => {
  const most = Math.min(1000, await longestQueue());
  const core = localTokenCore(smallCore().implementation);
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, onFault: () => undefined });
  onTestFinished(() => listener.close(0));
  let connected = 0;
  const open = (): Socket => {
    const socket = connectTcp(listener.port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket.once("connect", () => (connected += 1));
  };
  for (let count = 0; count < most; count += 1) open(); // in one turn, in which none is accepted
  await expect.poll(() => connected, { interval: 10 }).toBeGreaterThan(most / 10);
  await new Promise((resolve) => open().once("connect", resolve)); // the queue has room by now; one that found none waits for a second
  expect(connected).toBe(most + 1);
});

test("a refused stream is closed although its caller does not end it", async () => {
  const onFault = (fault: unknown) => {
    throw fault;
  };
  const core = localTokenCore(smallCore().implementation);
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, fronts: { secret: "s".repeat(32) }, onFault });
  onTestFinished(() => listener.close(0));
  const session = connect(`http://127.0.0.1:${listener.port}`);
  onTestFinished(() => session.destroy());
  const answerOf = (path: string, headers: Record<string, string>) => {
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", ...headers });
    let answer: number | undefined;
    stream.on("error", () => undefined).on("response", (response) => (answer = Number(response["grpc-status"])));
    stream.resume().write(MESSAGE.subarray(0, 5));
    return new Promise((resolve) => stream.once("close", () => resolve([answer, stream.rstCode])));
  };
  const closed = constants.NGHTTP2_NO_ERROR;
  const [converse, introspect] = [methodPath(TokenCoreService.method.converse), methodPath(IntrospectionService.method.introspect)];
  expect(await answerOf(converse, {})).toEqual([status.UNAUTHENTICATED, closed]);
  expect(await answerOf(introspect, { "grpc-encoding": "gzip" })).toEqual([status.UNIMPLEMENTED, closed]);
});
