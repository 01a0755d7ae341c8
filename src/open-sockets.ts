import type { Server, Socket } from "node:net";

/** The most connections of one listener. */
export const MAX_CONNECTIONS = 10_000;

/** Connections that wait in the kernel while the event loop is in a turn. A full queue costs a client a second, until it sends again. */
export const BACKLOG = 4096;

/** Connections by address, each address with its oldest first. */
function addressBook(keyOf: (address: string) => string) {
  const addresses = new Map<string, Set<Socket>>();
  return {
    add(socket: Socket): () => void {
      const key = keyOf(socket.remoteAddress ?? "");
      const own = addresses.get(key) ?? new Set();
      addresses.set(key, own.add(socket));
      return () => {
        own.delete(socket);
        if (own.size === 0 && addresses.get(key) === own) addresses.delete(key);
      };
    },
    /** The oldest connection of the address with most of them, or the newest of all where its address has as many. */
    leastMissed(newest: Socket): Socket {
      let crowd = addresses.get(keyOf(newest.remoteAddress ?? "")) ?? new Set();
      const own = crowd;
      for (const other of addresses.values()) if (other.size > crowd.size) crowd = other;
      const [oldest = newest] = crowd;
      return crowd === own ? newest : oldest;
    },
  };
}

/**
 * The connections of listening servers that are open now. Where there are too many, the newest is closed; but one of an address with few takes the
 * place of one of the address with most, so that those of a single address keep no other out.
 * @param most of them  @param keyOf what connections of one address are counted by
 */
export function openSockets(servers: Iterable<Server>, most: number, keyOf: (address: string) => string): ReadonlySet<Socket> {
  const leaving = new Map<Socket, () => void>();
  const addresses = addressBook(keyOf);
  const sockets = new Set<Socket>();
  const leave = (socket: Socket): void => {
    sockets.delete(socket);
    leaving.get(socket)?.();
    leaving.delete(socket);
  };
  /** @returns whether it may stay */
  const admit = (socket: Socket): boolean => {
    sockets.add(socket);
    leaving.set(socket, addresses.add(socket));
    socket.once("close", () => leave(socket));
    if (sockets.size <= most) return true;
    const closed = addresses.leastMissed(socket);
    leave(closed);
    closed.destroy();
    return closed !== socket;
  };
  for (const server of servers) {
    const handlers = server.listeners("connection") as ((socket: Socket) => void)[];
    server.removeAllListeners("connection").on("connection", (socket: Socket) => {
      if (admit(socket)) for (const handle of handlers) handle.call(server, socket);
    });
  }
  return sockets;
}

/** Closes those on which nothing was ever sent, such as browsers open in advance; neither Node nor grpc-js counts them as idle. */
export function closeUnused(sockets: Iterable<Socket>): void {
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
}
