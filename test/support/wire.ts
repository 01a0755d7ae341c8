import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { freePort } from "./free-port.ts";

/** A TCP proxy that a test can cut, stall and restore. */
export interface Wire {
  readonly port: number;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Keeps connections open but drops all their data from now on, like a network that fails silently. */
  hold(): void;
  /** How many chunks came from the client, forwarded or not. */
  received(): number;
  /** Forwards new connections again. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

export async function wireTo(host: string, port: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  let held = false;
  let received = 0;
  const server = createServer((inner) => {
    const outer = connect(port, host);
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(from);
      from.on("data", (data) => {
        if (from === inner) received += 1;
        if (held) silent.add(from);
        if (!silent.has(from)) to.write(data);
      });
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const listen = async (at: number) => {
    server.listen(at, "127.0.0.1");
    await once(server, "listening");
  };
  const cut = async () => {
    const closed = server.listening ? once(server, "close") : undefined;
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const own = await freePort(); // no other program takes it while this one is cut
  await listen(own);
  return {
    port: own,
    cut,
    received: () => received,
    hold: () => {
      held = true;
      for (const socket of sockets) silent.add(socket);
    },
    mend: async () => {
      held = false;
      if (!server.listening) await listen(own);
    },
    close: cut,
  };
}
