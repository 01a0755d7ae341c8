import type { Client } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { connectToCore, frontMetadata, keepConnections } from "../../../src/grpc/core-channel.ts";
import { keepCoreStreams } from "../../../src/grpc/core-peers.ts";
import { startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore } from "../../../src/grpc/local.ts";
import { clientCredentials, smallCore } from "./small-core.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function aCore() {
  const { implementation, seen } = smallCore();
  const listener = await startGrpcListener({
    host: "127.0.0.1",
    port: 0,
    core: localTokenCore(implementation),
    fronts: {},
    onFault: () => undefined,
  });
  cleanups.push(() => listener.close(0));
  const address = { url: `http://127.0.0.1:${listener.port}` };
  const client = connectToCore(address, "127.0.0.1");
  cleanups.push(() => client.close());
  return { client, seen, metadata: frontMetadata(address) };
}
const connectionsOver = (clients: Client[]) => keepConnections(() => clients.shift() as Client, clients.length);
const question = (clientId: string) => ({ name: "token" as const, request: clientCredentials(clientId), budget: 3_000 });

test("streams are spread over the connections, and calls over the streams", async () => {
  const [one, two] = [await aCore(), await aCore()];
  const streams = keepCoreStreams(connectionsOver([one.client, two.client]), 4, one.metadata, () => performance.now());
  expect(streams.pick()).toBeUndefined(); // opens the streams
  await expect.poll(() => new Set(Array.from({ length: 8 }, () => streams.pick())).size).toBe(4);
  for (let i = 0; i < 40; i += 1) await streams.pick()?.ask(question(`c${i}`));
  expect([one.seen.length, two.seen.length]).toEqual([20, 20]);
  streams.close();
  expect(streams.pick()).toBeUndefined();
});

test("a stream is renewed, and calls on the old one are still answered", async () => {
  const { client, metadata } = await aCore();
  let time = 0;
  const streams = keepCoreStreams(connectionsOver([client]), 1, metadata, () => time);
  await expect.poll(() => streams.pick()).toBeDefined();
  const old = streams.pick();
  const slow = old?.ask(question("slow-300"));
  time += 14_000;
  expect(streams.pick()).toBe(old);
  time += 2_000;
  expect(streams.pick()).toBe(old); // until the new stream is open
  await expect.poll(() => streams.pick()).not.toBe(old);
  expect(old?.state()).toBe("retired");
  expect(await slow).toMatchObject({ accessToken: "live-slow-300" });
  streams.close();
});
