import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { privateCa } from "./private-ca.ts";

export const ca = privateCa();

export interface Publisher {
  readonly port: number;
  /** Number of connections so far, with or without requests. */
  readonly connections: () => number;
  /** The requests so far. */
  readonly requests: () => readonly IncomingMessage[];
  /** Sets the listener for the following requests. */
  serve(listener: RequestListener): void;
  /** Answers every request with this JSON. */
  serveJson(value: unknown, headers?: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

/** A small https server on a loopback address that publishes documents and counts connections and requests. */
export async function publisher(hosts: readonly string[] = ["localhost"], address = "127.0.0.1"): Promise<Publisher> {
  ca.trustHere();
  let connections = 0;
  const requests: IncomingMessage[] = [];
  let listener: RequestListener = (_request, response) => response.writeHead(404).end();
  const server = createServer(ca.serverFor(...hosts), (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    listener(request, response);
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const serve = (next: RequestListener) => {
    listener = next;
  };
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    requests: () => requests,
    serve,
    serveJson: (value, headers = {}) =>
      serve((_request, response) => response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(value))),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
