import { createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { remoteTokenCore } from "../../../src/grpc/core-client.ts";
import { startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore, type TokenCoreImplementation } from "../../../src/grpc/local.ts";
import { freePort } from "../../support/free-port.ts";
import { clientCredentials, smallCore } from "./small-core.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function aCore(host: string, port: number, methods: Partial<TokenCoreImplementation> = {}) {
  const { implementation, seen } = smallCore();
  const core = localTokenCore({ ...implementation, ...methods });
  const listener = await startGrpcListener({ host, port, core, fronts: {}, onFault: () => undefined });
  cleanups.push(() => listener.close(0));
  return { seen, listener };
}

/** Accepts connections and never answers, like a process that is stopped. */
async function aHungCore(host: string, port: number) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return sockets;
}

/** A front of cores whose name has the addresses of a list, which a test may change. */
function aFront(port: number, addresses: readonly string[]) {
  const now = { addresses };
  const names = { resolve: async () => now.addresses, every: 50 };
  const core = remoteTokenCore({ url: `http://cores.example.test:${port}` }, undefined, names);
  cleanups.push(() => core.close());
  const call = (name: string, timeoutMs = 3_000) => core.token(clientCredentials(name), { timeoutMs });
  return { core, now, call };
}

test("calls are spread over all addresses of the name, also over one that is added later", async () => {
  const port = await freePort();
  const [one, two] = [await aCore("127.0.0.1", port), await aCore("127.0.0.2", port)];
  const { call, now } = aFront(port, ["127.0.0.1", "127.0.0.2"]);
  await expect.poll(() => call("warm").then(() => one.seen.length > 0 && two.seen.length > 0)).toBe(true);
  const [before, beforeTwo] = [one.seen.length, two.seen.length];
  for (let i = 0; i < 20; i += 1) await call(`c${i}`);
  expect(Math.abs(one.seen.length - before - (two.seen.length - beforeTwo))).toBeLessThan(4);
  const three = await aCore("127.0.0.3", port);
  now.addresses = [...now.addresses, "127.0.0.3"];
  await expect.poll(() => call("more").then(() => three.seen.length)).toBeGreaterThan(0);
});

test("no call fails because one of the addresses is silent or refuses connections, from the first call on", async () => {
  const port = await freePort();
  const { seen } = await aCore("127.0.0.1", port);
  const reached = await aHungCore("127.0.0.2", port);
  const { core, call } = aFront(port, ["127.0.0.3", "127.0.0.2", "127.0.0.1"]);
  for (let i = 0; i < 20; i += 1) await call(`c${i}`, 1_500);
  expect([seen.length, await core.ready()]).toEqual([20, true]);
  expect(reached.length).toBeGreaterThan(0);
});

test("while one of two cores drains, and after it has gone, no call fails; a name without addresses changes nothing", async () => {
  const port = await freePort();
  const [one, two] = [await aCore("127.0.0.1", port), await aCore("127.0.0.2", port)];
  const { call, now } = aFront(port, ["127.0.0.1", "127.0.0.2"]);
  await expect.poll(() => call("warm").then(() => one.seen.length > 0 && two.seen.length > 0)).toBe(true);
  const closed = one.listener.close(5);
  for (let i = 0; i < 50; i += 1) await call("slow-4");
  await closed;
  now.addresses = [];
  for (let i = 0; i < 50; i += 1) await call("slow-4");
  expect(two.seen.length).toBeGreaterThan(70);
});

test("a core that answers pings, but lets three calls in a row run into their deadlines, gets no further ones", async () => {
  const port = await freePort();
  const stuck: string[] = [];
  const token: TokenCoreImplementation["token"] = async ({ client }, { signal }) => {
    stuck.push(client?.clientId ?? "");
    return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  };
  await aCore("127.0.0.1", port, { token });
  const { seen } = await aCore("127.0.0.2", port);
  const { call } = aFront(port, ["127.0.0.1", "127.0.0.2"]);
  const lost = () => Promise.allSettled(Array.from({ length: 16 }, (_, i) => call(`lost-${i}`, 150)));
  await expect.poll(() => lost().then(() => stuck.length > 0 && seen.length > 0)).toBe(true);
  // On a busy machine streams open late, and calls whose deadlines are over before that count for none of them.
  const more = (before: number, answered: number) => lost().then(() => [stuck.length - before, seen.length - answered >= 8]);
  await expect.poll(() => more(stuck.length, seen.length)).toEqual([0, true]);
  const given = stuck.length;
  const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => call(`c${i}`)));
  expect(answers.filter(({ status }) => status === "rejected")).toEqual([]);
  expect(stuck.length).toBe(given);
});

test("a name that cannot be resolved is refused at once, and calls succeed when it can", async () => {
  const port = await freePort();
  await aCore("127.0.0.1", port);
  const { call, now } = aFront(port, []);
  await expect(call("early")).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "core_unresolved" });
  now.addresses = ["127.0.0.1"];
  expect(await call("later")).toMatchObject({ accessToken: "live-later" });
});

test("a name service that does not answer is asked once at a time, and calls end at their deadlines", async () => {
  let asked = 0;
  const resolve = () => {
    asked += 1;
    return new Promise<never>(() => undefined);
  };
  const core = remoteTokenCore({ url: "http://cores.example.test:1" }, undefined, { resolve, every: 10 });
  cleanups.push(() => core.close());
  const calls = [1, 2, 3].map((n) => core.token(clientCredentials(`c${n}`), { timeoutMs: 200 }));
  const unresolved = { status: "rejected", reason: { code: "temporarily_unavailable", reason: "core_unresolved" } };
  expect(await Promise.allSettled(calls)).toMatchObject([unresolved, unresolved, unresolved]);
  expect(await core.ready()).toBe(false);
  expect(asked).toBe(1);
});
