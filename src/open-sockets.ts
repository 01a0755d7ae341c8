import type { Server, Socket } from "node:net";

/** The most connections of one listener; further ones are closed at once. */
export const MAX_CONNECTIONS = 10_000;

/** Connections that wait in the kernel while the event loop is in a turn. A full queue costs a client a second, until it sends again. */
export const BACKLOG = 4096;

/** The connections of listening servers that are open now. */
export function openSockets(servers: Iterable<Server>): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  for (const server of servers)
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
  return sockets;
}

/** Closes those on which nothing was ever sent, such as browsers open in advance; neither Node nor grpc-js counts them as idle. */
export function closeUnused(sockets: Iterable<Socket>): void {
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
}
