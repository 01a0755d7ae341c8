import { isIP, isIPv4, isIPv6 } from "node:net";
import { Client, type ClientOptions, credentials, Metadata } from "@grpc/grpc-js";

/** Where the core is, and how the front authenticates. */
export interface CoreAddress {
  /** `http://` (h2c) or `https://`; the front balances over all addresses of the host name. */
  readonly url: string;
  readonly secret?: string | undefined;
  /** PEM texts: `ca` replaces the authorities that Node trusts; `cert` and `key` are for mutual TLS. */
  readonly tls?: { readonly [File in "ca" | "cert" | "key"]?: string | undefined } | undefined;
}

const OPTIONS: ClientOptions = {
  "grpc.service_config_disable_resolution": 1,
  // Reconnects within a moment to a core that restarts.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  // No keepalive: Node sends no ping on a connection that drains, which grpc-js takes for a failure that ends its calls. Streams notice
  // by themselves that the other end is silent (core-stream.ts).
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
  // Two clients of one process must not share one socket.
  "grpc.use_local_subchannel_pool": 1,
};

const buffer = (pem: string | undefined): Buffer | null => (pem === undefined ? null : Buffer.from(pem));

/** Connects to one address of the core's name. @throws {Error} for a URL of another scheme */
export function connectToCore({ url, tls }: CoreAddress, at: string): Client {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "http:" && protocol !== "https:") throw new Error("TOKEN_CORE_URL must begin with http:// or https://");
  const secure = protocol === "https:";
  const number = port || (secure ? 443 : 80);
  const target = `dns:///${isIPv6(at) ? `[${at}]` : at}:${number}`;
  // The certificate is for the name, and so are the routes of a proxy that reads the authority.
  const named = { "grpc.default_authority": `${hostname}:${number}`, ...(secure && { "grpc.ssl_target_name_override": hostname }) };
  return new Client(
    target,
    secure ? credentials.createSsl(buffer(tls?.ca), buffer(tls?.key), buffer(tls?.cert)) : credentials.createInsecure(),
    { ...OPTIONS, ...(isIP(at) !== 0 && isIP(unbracketed(hostname)) === 0 && named) },
  );
}

/** The host of a URL without the brackets of IPv6. */
export const unbracketed = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");

export function frontMetadata({ secret }: CoreAddress): Metadata {
  const metadata = new Metadata();
  if (secret !== undefined) metadata.set("authorization", `Bearer ${secret}`);
  return metadata;
}

/** The connections of a front to one address. */
export type Connections = ReturnType<typeof keepConnections>;

export function keepConnections(connect: () => Client, count: number) {
  const clients = Array.from({ length: count }, connect);
  return {
    /** Any index: the connections take turns. */
    at(index: number): Client {
      const client = clients[index % clients.length];
      if (client === undefined) throw new Error("a front has at least one connection");
      return client;
    },
    all: (): readonly Client[] => clients,
    /** Replaces a connection to a core that hangs; calls in flight on the old one continue. */
    replace(client: Client): void {
      const index = clients.indexOf(client);
      if (index < 0) return;
      clients[index] = connect();
      client.close();
    },
    close(): void {
      for (const client of clients) client.close();
    },
  };
}

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host === "[::1]" || (isIPv4(host) && host.startsWith("127."));
