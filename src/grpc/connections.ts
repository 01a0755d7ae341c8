import type { Client } from "@grpc/grpc-js";

/** The connections of a front to its cores. Each is a channel, which may hold a socket for every address of the core's name. */
export interface Connections {
  /** In turn, for whatever index. */
  at(index: number): Client;
  /** Puts a new connection in the place of one that leads to a core that hangs; what is under way on the old one goes on. */
  replace(client: Client): void;
  close(): void;
}

export function keepConnections(connect: () => Client, count: number): Connections {
  const clients = Array.from({ length: count }, connect);
  return {
    at(index) {
      const client = clients[index % clients.length];
      if (client === undefined) throw new Error("a front has at least one connection");
      return client;
    },
    replace(client) {
      const index = clients.indexOf(client);
      if (index < 0) return;
      clients[index] = connect();
      client.close();
    },
    close() {
      for (const client of clients) client.close();
    },
  };
}
