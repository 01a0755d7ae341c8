import { connect, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { openSockets } from "../../src/open-sockets.ts";

/** A server that greets each connection it serves. */
async function aServer(most: number) {
  const server: Server = createServer((socket) => void socket.on("error", () => undefined).write("hello"));
  const sockets = openSockets([server], most, (address) => address);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  /** Resolves once it is served or closed. */
  const open = async (localAddress: string) => {
    const socket: Socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => undefined);
    const served = await new Promise((resolve) => socket.once("data", () => resolve(true)).once("close", () => resolve(false)));
    return { served, socket };
  };
  return { open, sockets };
}

test("a connection from another address takes the place of the oldest from the address with most", async () => {
  const { open, sockets } = await aServer(3);
  const crowd = [await open("127.0.0.1"), await open("127.0.0.1"), await open("127.0.0.1")];
  expect((await open("127.0.0.1")).served).toBe(false);
  const other = await open("127.0.0.2");
  expect([other.served, sockets.size]).toEqual([true, 3]);
  await expect.poll(() => crowd.map(({ socket }) => socket.destroyed)).toEqual([true, false, false]);
  expect((await open("127.0.0.1")).served).toBe(false);
  expect([other.socket.destroyed, sockets.size]).toEqual([false, 3]);
});

test("a connection from an address that has as many as any other is closed, and one is served once another has left", async () => {
  const { open, sockets } = await aServer(2);
  const [first] = [await open("127.0.0.1"), await open("127.0.0.2")];
  expect((await open("127.0.0.1")).served).toBe(false);
  first.socket.destroy();
  await expect.poll(() => sockets.size).toBe(1);
  expect((await open("127.0.0.3")).served).toBe(true);
});
