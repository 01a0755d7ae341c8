import { connect, createServer, type Socket } from "node:net";

/** A TCP load balancer for servers on this machine: assigns connections in turn, and can pause those of one server. */
export async function aBalancer(ports: readonly number[]) {
  const sockets = new Map<Socket, number>();
  const held = new Set<number>();
  let turn = 0;
  const server = createServer((near) => {
    const port = ports[turn++ % ports.length] ?? 1;
    const far = connect(port, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.set(from.setNoDelay(), port);
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
      if (held.has(port)) from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const turnTo = (port: number, how: "pause" | "resume") => {
    for (const [socket, of] of sockets) if (of === port) socket[how]();
  };
  return {
    port: (server.address() as { port: number }).port,
    stop(port: number) {
      held.add(port);
      turnTo(port, "pause");
    },
    go(port: number) {
      held.delete(port);
      turnTo(port, "resume");
    },
    close() {
      for (const socket of sockets.keys()) socket.destroy();
      server.close();
    },
  };
}
