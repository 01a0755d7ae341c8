import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import { BACKLOG, closeUnused, MAX_CONNECTIONS, openSockets } from "../../open-sockets.ts";
import type { Lifecycle } from "./steps.ts";

/** Milliseconds. Several of these cannot be changed once a server exists. */
const TIMES = {
  /** Between two checks for connections that send slowly. */
  checking: 1000,
  headers: 10_000,
  request: 15_000,
  keepAlive: 5000,
  /** Without traffic on a connection with a request in flight; longer than a request's deadline, so that its response is still sent. */
  idle: 15_500,
};

/** A client may end its side after its last request, which may have an effect: Node would drop its response. Its types lack the member. */
const ANSWERS_HALF_CLOSED = { httpAllowHalfOpen: true };

/**
 * Ends a response when its reader ends their side of the connection, or has ended it: one that costs much for a reader who has left, and is worth
 * nothing to one who comes later.
 */
export function endWithReader({ socket }: IncomingMessage, response: ServerResponse): void {
  const leave = (): void => void response.destroy();
  if (socket.readableEnded) leave();
  socket.once("end", leave);
  response.once("close", () => socket.off("end", leave));
}

/** A handler all of whose responses end with their reader. */
export const endingWithReader =
  (handler: RequestListener): RequestListener =>
  (request, response) => {
    endWithReader(request, response);
    handler(request, response);
  };

/** Requests of a connection that wait for the response to an earlier one. Few clients send any; one read of a socket can bring 1,600. */
const SENT_AHEAD = 16;

/** Begins one request of a connection after the other, and closes a connection with more ahead: they cost their sender next to nothing. */
function oneByOne(handler: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (req, res) => {
    const { socket } = req;
    if (res.socket !== null) return handler(req, res);
    if (socket.destroyed) return;
    const ahead = (waiting.get(socket) ?? 0) + 1;
    if (ahead > SENT_AHEAD) return void socket.destroy();
    waiting.set(socket, ahead);
    // A response gets the socket once it is its turn.
    res.once("socket", () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      process.nextTick(handler, req, res); // Node is not done with the response
    });
  };
}

export type ListenerTimes = Readonly<typeof TIMES>;

export interface ListenOptions {
  readonly handler: RequestListener;
  /** `localhost` means both loopback addresses. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly lifecycle: Lifecycle;
  readonly times?: Partial<ListenerTimes>;
}

export type FrontListener = Awaited<ReturnType<typeof listen>>;

/** Opens the HTTP listener of a front. @throws when the address is not available */
export async function listen(options: ListenOptions) {
  const servers = await openAll(options);
  const { lifecycle } = options;
  let drained: Promise<void> | undefined;
  const drain = async (notice: number, grace: number) => {
    lifecycle.draining = true;
    await pause(notice);
    lifecycle.leaving = true;
    await quiet();
    const idle = notice === 0 ? 0 : (options.times?.keepAlive ?? TIMES.keepAlive);
    await Promise.all(servers.map(({ server, sockets }) => closeServer(server, sockets, idle, grace)));
  };
  return {
    addresses: servers.map(({ server }) => addressOf(server)),
    /**
     * Reports `draining` and serves for `notice` milliseconds; then refuses connections, answers on those that are open, with
     * `Connection: close`, and gives requests in flight `grace` milliseconds. Without notice, idle connections are closed at once.
     */
    drain: (notice: number, grace: number): Promise<void> => {
      drained ??= drain(notice, grace);
      return drained;
    },
  };
}

interface Opened {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
}

async function openAll(options: ListenOptions): Promise<readonly Opened[]> {
  if (options.host !== "localhost") return [await open(options, options.host, options.port)];
  const first = await open(options, "127.0.0.1", options.port);
  try {
    return [first, await open(options, "::1", addressOf(first.server).port)];
  } catch (error) {
    if (WITHOUT_IPV6.has(codeOf(error))) return [first];
    first.server.close();
    if (options.port === 0 && codeOf(error) === "EADDRINUSE") return openAll(options);
    throw error;
  }
}

function open({ handler, times }: ListenOptions, host: string, port: number): Promise<Opened> {
  const { checking, headers, request, keepAlive, idle } = { ...TIMES, ...times };
  const limits = { connectionsCheckingInterval: checking, headersTimeout: headers, requestTimeout: request, keepAliveTimeout: keepAlive };
  const server = Object.assign(createServer({ ...limits, maxHeaderSize: 16 * 1024 }, oneByOne(handler)), ANSWERS_HALF_CLOSED);
  server.maxHeadersCount = 100;
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = idle;
  const sockets = openSockets([server]);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve({ server, sockets });
    });
  });
}

/**
 * Waits until the event loop has just accepted all connections: the kernel resets those that wait for it when a listener closes, and a proxy
 * may already have sent a request on them, which it must not repeat.
 */
async function quiet(): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const began = performance.now();
    await setImmediate();
    if (performance.now() - began < 1) return;
  }
}

/** Refuses new connections. Idle ones are closed after `idle` milliseconds, all others after `grace`. */
const closeServer = (server: Server, sockets: ReadonlySet<Socket>, idle: number, grace: number): Promise<void> =>
  new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), grace);
    const from = performance.now() + idle;
    const sweep = setInterval(() => {
      if (performance.now() < from) return;
      server.closeIdleConnections();
      closeUnused(sockets);
    }, 50);
    // `server.close()` would close idle connections, on which a proxy may be sending a request.
    NetServer.prototype.close.call(server, () => {
      clearTimeout(cut);
      clearInterval(sweep);
      resolve();
    });
  });

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no network address");
  return address;
}

const WITHOUT_IPV6: ReadonlySet<unknown> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);
const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);
