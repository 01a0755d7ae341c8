import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Server as NetServer, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { afterAll, test as base, expect, onTestFinished, vi } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import {
  type ConverseAnswerSchema,
  type ConverseCall,
  type ConverseRequest,
  ConverseRequestSchema,
  ConverseResponseSchema,
  TokenCoreService,
} from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { connectToCore, frontMetadata } from "../../../src/grpc/core-channel.ts";
import { remoteTokenCore } from "../../../src/grpc/core-client.ts";
import { openCoreStream } from "../../../src/grpc/core-stream.ts";
import { type CoreDuplex, serveTokenCore } from "../../../src/grpc/core-stream-server.ts";
import { asBuffer, servedMethod } from "../../../src/grpc/definition.ts";
import { type GrpcListener, startGrpcListener } from "../../../src/grpc/listener.ts";
import { type AnyCall, localTokenCore, TOKEN_CORE_METHODS } from "../../../src/grpc/local.ts";
import { admission, callRunner, serveUnary } from "../../../src/grpc/served-call.ts";
import { clientCredentials, smallCore } from "./small-core.ts";

const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** These tests mostly wait, each for servers of its own: they wait together. */
const test = base.concurrent;

const onFault = (fault: unknown) => {
  throw fault;
};

async function aCore(options: { port?: number; maxInFlight?: number } = {}) {
  const { implementation, seen } = smallCore();
  const listener = await startGrpcListener({
    host: "127.0.0.1",
    port: 0,
    core: localTokenCore(implementation),
    fronts: {},
    onFault,
    ...options,
  });
  cleanups.push(() => listener.close(0));
  return { listener, seen };
}

function aFront(port: number, log?: Parameters<typeof remoteTokenCore>[3]) {
  const core = remoteTokenCore({ url: `http://127.0.0.1:${port}` }, undefined, undefined, log);
  cleanups.push(() => core.close());
  return core;
}

/** Calls until the stream is open. */
async function openStream(core: ReturnType<typeof aFront>) {
  for (let i = 0; i < 3; i += 1) await core.publicKeys({});
}

const refusalOf = async (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    (thrown: unknown) => (thrown instanceof Refusal ? thrown.code : String(thrown)),
  );

/** A TCP proxy to the cores that assigns connections in turn and can be cut. */
async function aProxy(ports: () => number[]) {
  const sockets = new Set<Socket>();
  let turn = 0;
  const server: NetServer = createServer((near) => {
    const targets = ports();
    const far = connect(targets[turn++ % targets.length] ?? 1, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  cleanups.push(() => {
    cut();
    server.close();
  });
  return { port: (server.address() as { port: number }).port, cut };
}

/** A grpc-js server with a part of TokenCoreService only. */
async function aServer(fill: (server: Server, core: ReturnType<typeof localTokenCore>) => void) {
  const { implementation, seen } = smallCore();
  const server = new Server();
  fill(server, localTokenCore(implementation));
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  cleanups.push(() => server.forceShutdown());
  return { port, seen, server };
}
const run = callRunner(admission(256), onFault);

/** A stream to a core that accepts it and does what `serve` makes of it. */
async function aStream(serve: (stream: CoreDuplex) => void) {
  const { port, server } = await aServer((server) => {
    const { converse } = TokenCoreService.method;
    server.addService(
      { converse: { ...servedMethod(converse, 96 * 1024), responseSerialize: asBuffer } },
      {
        converse: (stream: CoreDuplex) => {
          serve(stream);
          stream.on("error", () => undefined).sendMetadata(new Metadata());
        },
      },
    );
  });
  const address = { url: `http://127.0.0.1:${port}` };
  const client = connectToCore(address, "127.0.0.1");
  cleanups.push(() => client.close());
  const ends: string[] = [];
  const stream = openCoreStream(client, frontMetadata(address), (how) => ends.push(how));
  await expect.poll(() => stream.state()).toBe("open");
  return { server, stream, ends };
}

// First, while no other front of this file has anything to do.
base("a front has nothing to do for a stream whose core left in the middle of a write", async () => {
  const streams: CoreDuplex[] = [];
  const { server, stream, ends } = await aStream((stream) => streams.push(stream)); // it reads nothing

  // More than the library keeps for a repetition: further bytes are written when the core has read others.
  const request = { tokens: Array.from({ length: 90 }, () => "x".repeat(10_000)) };
  const calls = [1, 2, 3].map(() => stream.ask({ name: "introspect", request, budget: 3_000 }));
  await turn();
  expect(stream.busy()).toBe(true);
  streams[0]?.write(toBinary(ConverseResponseSchema, create(ConverseResponseSchema, { closing: true })));
  await expect.poll(() => stream.state()).toBe("retired");
  server.forceShutdown();
  await expect.poll(() => ends).toEqual(["closed"]);
  expect(await Promise.all(calls)).toEqual([undefined, undefined, undefined]); // to be asked elsewhere

  // Those of the stream alone: what earlier files of this worker left behind may have something to do.
  const turns: string[] = [];
  const { setImmediate: real } = globalThis;
  const seen = ((...given: Parameters<typeof real>) => {
    turns.push(new Error("asked for a turn").stack ?? "");
    return real(...given);
  }) as typeof real;
  const spy = vi.spyOn(globalThis, "setImmediate").mockImplementation(seen);
  onTestFinished(() => spy.mockRestore());
  for (let count = 0; count < 10; count += 1) await turn();
  // Not at every turn: the library may just be looking whether the core is back.
  expect(turns.filter((stack) => /\/(?:src\/grpc|@grpc)\//.test(stack)).length).toBeLessThan(10);
});

test("a call to a core that answers a ping late leaves after that answer; one to a core that never does is made elsewhere", async ({
  expect,
}) => {
  const calls: ConverseCall[] = [];
  const streams: CoreDuplex[] = [];
  const { stream, ends } = await aStream((stream) => {
    streams.push(stream);
    stream.on("data", ({ message }: { message: ConverseRequest }) => calls.push(...message.calls));
  });
  const names = () => calls.map(({ request }) => request.case);
  const answerLast = (result: NonNullable<MessageInitShape<typeof ConverseAnswerSchema>["result"]>) =>
    streams[0]?.write(
      toBinary(ConverseResponseSchema, create(ConverseResponseSchema, { answers: [{ id: calls.at(-1)?.id ?? 0, result }] })),
    );
  const isHeld = () => expect.poll(() => stream.busy(), { interval: 5, timeout: 10_000 }).toBe(true);
  const token = () => stream.ask({ name: "token", request: clientCredentials("a"), budget: 30_000 });

  await isHeld();
  const late = token();
  await expect.poll(names).toEqual(["publicKeys"]);
  answerLast({ case: "publicKeys", value: {} });
  await expect.poll(names).toEqual(["publicKeys", "token"]);
  expect(stream.busy()).toBe(false);
  answerLast({ case: "token", value: { accessToken: "late" } });
  expect(await late).toMatchObject({ accessToken: "late" });

  await isHeld();
  expect(await token()).toBeUndefined();
  expect([names(), ends]).toEqual([["publicKeys", "token", "publicKeys"], ["hung"]]);
});

test("a front leaves a stream that began while its core was stopping", async ({ expect }) => {
  const { port } = await aServer((server, core) => serveTokenCore(server, core, { mutualTls: false }, run).close());
  const address = { url: `http://127.0.0.1:${port}` };
  const client = connectToCore(address, "127.0.0.1");
  cleanups.push(() => client.close());
  const stream = openCoreStream(client, frontMetadata(address), () => undefined);
  await expect.poll(() => stream.state()).toBe("retired");
});

test("a call that only a later release knows can be repeated, and is no fault of the core", async ({ expect }) => {
  const { listener } = await aCore();
  const address = { url: `http://127.0.0.1:${listener.port}` };
  const client = connectToCore(address, "127.0.0.1");
  cleanups.push(() => client.close());
  const { path } = servedMethod(TokenCoreService.method.converse, 1_024);
  const stream = client.makeBidiStreamRequest(
    path,
    asBuffer,
    (bytes: Buffer) => fromBinary(ConverseResponseSchema, bytes),
    frontMetadata(address),
  );
  const refusal = { case: "refusal", value: expect.objectContaining({ error: "temporarily_unavailable", retryAfter: 5 }) };
  stream.write(toBinary(ConverseRequestSchema, create(ConverseRequestSchema, { calls: [{ id: 1 }] })));
  const [answer] = await once(stream, "data");
  expect(answer.answers).toEqual([expect.objectContaining({ id: 1, result: refusal })]);
  stream.end();
});

test("a core of an earlier release without Converse is called by unary calls", async ({ expect }) => {
  const { port, seen } = await aServer((server, core) => {
    for (const [name, method] of TOKEN_CORE_METHODS) {
      serveUnary(server, method, run, {
        bytes: 96 * 1024,
        limit: 3_000,
        answer: (request, _call, signal) => (core[name] as AnyCall)(request, { signal }),
      });
    }
  });
  const core = aFront(port);
  for (let i = 0; i < 20; i += 1) expect(await core.token(clientCredentials(`c${i}`))).toMatchObject({ accessToken: `live-c${i}` });
  expect(seen).toHaveLength(20);
});

test("once the core has opened the stream, all calls use it, and each gets its own response or refusal", async ({ expect }) => {
  const { port, seen } = await aServer((server, core) => {
    serveTokenCore(server, core, { mutualTls: false }, run);
  });
  const core = aFront(port);
  await openStream(core);
  const only = await aServer((server, near) => {
    serveTokenCore(server, near, { mutualTls: false }, run);
    for (const [, method] of TOKEN_CORE_METHODS) server.unregister(`/${method.parent.typeName}/${method.name}`);
  });
  const streaming = aFront(only.port);
  await expect.poll(() => streaming.publicKeys({})).toBeDefined(); // unary calls fail
  const names = Array.from({ length: 200 }, (_, i) => (i % 3 === 0 ? "invalid_grant" : i % 7 === 0 ? "slow-20" : `c${i}`));
  const answers = await Promise.all(
    names.map((name) =>
      streaming.token(clientCredentials(name)).then(
        ({ accessToken }) => accessToken.slice(5),
        (thrown: Refusal) => thrown.code,
      ),
    ),
  );
  expect(answers).toEqual(names);
  expect(seen).toEqual([]);
  expect(only.seen).toHaveLength(200);
});

test("a call that may have been sent when the connection breaks is refused and not repeated", async ({ expect }) => {
  const { listener, seen } = await aCore();
  const proxy = await aProxy(() => [listener.port]);
  const core = aFront(proxy.port);
  await openStream(core);
  const call = refusalOf(core.token(clientCredentials("slow-600")));
  await expect.poll(() => seen).toEqual(["slow-600"]);
  proxy.cut();
  expect(await call).toBe("temporarily_unavailable");
  expect(await core.token(clientCredentials("after"))).toMatchObject({ accessToken: "live-after" });
  expect(seen).toEqual(["slow-600", "after"]);
});

test("a stopped core is refused with core_unavailable at once, and used again soon after its restart; both are logged once", async ({
  expect,
}) => {
  const first = await aCore();
  const lines: string[] = [];
  const keep = (event: string, { reason = "", code = "" } = {}) => void lines.push(`${event} ${reason} ${code}`.trim());
  const core = aFront(first.listener.port, { info: keep, warn: keep });
  await openStream(core);
  await first.listener.close(0);
  const gone = { code: "temporarily_unavailable", reason: "core_unavailable", detail: { cause: { code: status.UNAVAILABLE } } };
  await expect(core.token(clientCredentials("a"))).rejects.toMatchObject(gone); // not DEADLINE_EXCEEDED
  await expect
    .poll(async () => [await core.ready(), ...lines], { timeout: 20_000 })
    .toEqual([false, "core_away core_unavailable ECONNREFUSED"]);
  await aCore({ port: first.listener.port });
  await expect.poll(() => core.ready(), { interval: 50 }).toBe(true);
  await openStream(core);
  expect(lines.slice(1)).toEqual(["core_back"]);
});

test.for([true, false])(
  "a draining core answers its accepted calls (by stream: %s), and its listener closes right after",
  async (byStream, { expect }) => {
    const { listener, seen } = await aCore();
    const core = aFront(listener.port);
    if (byStream) await openStream(core);
    // Longer than grpc-js would wait before it pings the connection, which drops all calls of one that drains.
    const calls = Promise.all(["slow-2200", "slow-300"].map((name) => core.token(clientCredentials(name))));
    await expect.poll(() => seen).toHaveLength(2);
    const closed = listener.close(120);
    expect((await calls).map(({ accessToken }) => accessToken)).toEqual(["live-slow-2200", "live-slow-300"]);
    await closed; // long before the grace period ends
    expect(await refusalOf(core.token(clientCredentials("late")))).toBe("temporarily_unavailable");
  },
);

test("calls that do not finish within the grace period are cut off", async ({ expect }) => {
  const { listener, seen } = await aCore();
  const core = aFront(listener.port);
  const call = refusalOf(core.token(clientCredentials("slow-120000")));
  await expect.poll(() => seen).toEqual(["slow-120000"]);
  await listener.close(0.2);
  expect(await call).toBe("temporarily_unavailable");
});

test("while one of two cores drains, no call of a front fails", async ({ expect }) => {
  const [one, two] = [await aCore(), await aCore()];
  let ports = [one.listener.port];
  const proxy = await aProxy(() => ports);
  const core = aFront(proxy.port);
  await openStream(core);
  const results: unknown[] = [];
  let running = true;
  const callers = Array.from({ length: 8 }, async (_, i) => {
    while (running) results.push(await core.token(clientCredentials(`slow-${i}`)).catch((thrown: unknown) => thrown));
  });
  await expect.poll(() => one.seen.length).toBeGreaterThan(50);
  ports = [two.listener.port];
  await one.listener.close(60);
  await expect.poll(() => two.seen.length).toBeGreaterThan(50);
  running = false;
  await Promise.all(callers);
  expect(results.filter((result) => result instanceof Error)).toEqual([]);
});

test.for([true, false])(
  "a core above its limit refuses calls at once with a retry after 1 s (by stream: %s)",
  async (byStream, { expect }) => {
    const { listener, seen } = await aCore({ maxInFlight: 4 });
    const core = aFront(listener.port);
    if (byStream) await openStream(core);
    const calls = await Promise.all(
      Array.from({ length: 10 }, () =>
        core.token(clientCredentials("slow-100")).then(
          () => "answered",
          (thrown: Refusal) => [thrown.code, thrown.detail.retryAfter],
        ),
      ),
    );
    expect(calls.filter((call) => call === "answered")).toHaveLength(4);
    expect(calls.filter((call) => call !== "answered")).toEqual(Array.from({ length: 6 }, () => ["temporarily_unavailable", 1]));
    expect(seen).toHaveLength(4);
  },
);

test.for([true, false])("a call ends at its deadline (by stream: %s)", async (byStream, { expect }) => {
  const { listener, seen } = await aCore();
  const core = aFront(listener.port);
  if (byStream) await openStream(core);
  const order: string[] = [];
  const waits = (timeoutMs: number) =>
    refusalOf(core.token(clientCredentials("slow-120000"), { timeoutMs })).then((code) => order.push(`${code} after ${timeoutMs}`));
  await Promise.all([waits(2_000), waits(200)]);
  expect(order).toEqual(["temporarily_unavailable after 200", "temporarily_unavailable after 2000"]);
  const gone = new AbortController();
  const call = refusalOf(core.token(clientCredentials("slow-2001"), { signal: gone.signal }));
  await expect.poll(() => seen).toContain("slow-2001");
  gone.abort();
  expect(await call).toBe("temporarily_unavailable");
  expect(await refusalOf(core.token(clientCredentials("never"), { signal: gone.signal }))).toBe("temporarily_unavailable");
  expect(await refusalOf(core.token(clientCredentials("too-late"), { timeoutMs: 40 }))).toBe("temporarily_unavailable");
  expect(seen.filter((name) => name !== "slow-120000")).toEqual(["slow-2001"]);
});

test("a message that is too large is refused, and concurrent calls are answered", async ({ expect }) => {
  const { listener } = await aCore();
  const core = aFront(listener.port);
  await openStream(core);
  const [large, small] = await Promise.all([
    refusalOf(core.token(clientCredentials("x".repeat(2_000_000)))),
    core.token(clientCredentials("small")),
  ]);
  expect([large, small.accessToken]).toEqual(["payload_too_large", "live-small"]);
});

test("a listener on a public address does not start without TOKEN_CORE_SECRET", async ({ expect }) => {
  const { implementation } = smallCore();
  const start: Promise<GrpcListener> = startGrpcListener({
    host: "0.0.0.0",
    port: 0,
    core: localTokenCore(implementation),
    fronts: {},
    onFault,
  });
  await expect(start).rejects.toThrow(/TOKEN_CORE_SECRET/);
});

test("the kernel asks after half a minute of silence whether the other end of a connection is there", async ({ expect }) => {
  const { listener } = await aCore();
  const socket = connect(listener.port, "127.0.0.1");
  cleanups.push(() => socket.destroy());
  await once(socket, "connect");
  // proc_pid_net(5): addresses in hexadecimal; the third timer is that of keepalive, with the time until it ends in hundredths of a second.
  const [local, remote] = [listener.port, socket.localPort ?? 0].map(
    (port) => `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`,
  );
  const timer = () => readFileSync("/proc/net/tcp", "utf8").match(`${local} ${remote} 01 \\S+ 02:(\\w+)`)?.[1] ?? "0";
  await expect.poll(() => Number.parseInt(timer(), 16)).toBeGreaterThan(2_000);
  expect(Number.parseInt(timer(), 16)).toBeLessThanOrEqual(3_000);
});
