import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { type GrpcListener, type ServerTls, startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore } from "../../../src/grpc/local.ts";
import { smallCore } from "./small-core.ts";

const pem = (name: string): string => readFileSync(new URL(`certificates/${name}`, import.meta.url), "utf8");

/** Seconds, longer than a test may take. */
const LONG_GRACE = 600;

const start = (tls?: ServerTls): Promise<GrpcListener> =>
  startGrpcListener({ host: "127.0.0.1", port: 0, core: localTokenCore(smallCore().implementation), tls, onFault: () => undefined });

/** A connection whose caller never closes it. */
async function connected({ port }: GrpcListener): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  await once(socket, "connect");
  return socket;
}

describe("a stop of the gRPC listener", { concurrent: true }, () => {
  test.each([
    { name: "h2c", tls: undefined },
    { name: "TLS", tls: { cert: pem("core.pem"), key: pem("core.key") } },
  ])("does not wait for a connection on which nothing was sent, over $name", async ({ tls }) => {
    const listener = await start(tls);
    const silent = await connected(listener);
    const later = await connected(listener); // by now the first one has been accepted
    await listener.close(LONG_GRACE);
    for (const socket of [silent, later]) expect(socket.destroy().bytesWritten).toBe(0);
  });

  test("waits no longer than the grace for a caller that does not close its side", async () => {
    const listener = await start();
    const socket = await connected(listener);
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    await once(socket, "readable"); // the settings of the server: there is a session
    await listener.close(0);
    expect(socket.destroy().bytesWritten).toBeGreaterThan(0);
  });
});
