import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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
    await Promise.all(servers.map((server) => closeServer(server, grace)));
  };
  return {
    addresses: servers.map(addressOf),
    /** Reports `draining`, serves for `notice` milliseconds, then refuses connections and gives requests in flight `grace` milliseconds. */
    drain: (notice: number, grace: number): Promise<void> => {
      drained ??= drain(notice, grace);
      return drained;
    },
  };
}

async function openAll(options: ListenOptions): Promise<readonly Server[]> {
  if (options.host !== "localhost") return [await open(options, options.host, options.port)];
  const first = await open(options, "127.0.0.1", options.port);
  try {
    return [first, await open(options, "::1", addressOf(first).port)];
  } catch (error) {
    if (WITHOUT_IPV6.has(codeOf(error))) return [first];
    first.close();
    if (options.port === 0 && codeOf(error) === "EADDRINUSE") return openAll(options);
    throw error;
  }
}

function open({ handler, times }: ListenOptions, host: string, port: number): Promise<Server> {
  const { checking, headers, request, keepAlive, idle } = { ...TIMES, ...times };
  const limits = { connectionsCheckingInterval: checking, headersTimeout: headers, requestTimeout: request, keepAliveTimeout: keepAlive };
  const server = createServer({ ...limits, maxHeaderSize: 16 * 1024 }, handler);
  server.maxHeadersCount = 100;
  server.maxConnections = 10_000;
  server.timeout = idle;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve(server);
    });
  });
}

/** Refuses new connections and closes idle ones at once; the others get `grace` milliseconds. */
const closeServer = (server: Server, grace: number): Promise<void> =>
  new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), grace);
    // A connection that had a request in flight when draining started is idle after its response.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
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

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
