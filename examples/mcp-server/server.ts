import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createGuard, type GuardOptions } from "@countersign/guard";
import { withAuthInfo } from "@countersign/guard/mcp";
import { protect } from "@countersign/guard/node";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { notebook } from "./notes.ts";
import { notesServer } from "./tools.ts";

export interface NotesServerOptions {
  /** The authorization server whose tokens are accepted. */
  readonly issuer: string;
  /** The address by which clients know this server. Default: /mcp at the port it listens on. */
  readonly resource?: string | undefined;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Whether tokens may, or must, be bound to a key of the client (docs/dpop.md). */
  readonly dpop?: NonNullable<GuardOptions["dpop"]>;
  /** Whether proofs must have a nonce of this server. */
  readonly dpopNonce?: NonNullable<GuardOptions["dpopNonce"]>;
  /** Told, by fixed words, why a request was refused. */
  readonly onRefusal?: NonNullable<GuardOptions["onRefusal"]>;
}

export interface NotesServer {
  readonly resource: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Starts the guarded notes server on loopback; `notes:read` opens the door, writing needs `notes:write` as well.
 * @throws {TypeError} when issuer or resource cannot be guarded; the error of the socket when the port is taken
 */
export async function startNotesServer({
  issuer,
  resource,
  port = 0,
  dpop,
  dpopNonce,
  onRefusal,
}: NotesServerOptions): Promise<NotesServer> {
  const servers = [createServer(), createServer()] as const;
  const own = await listen(servers[0], port, "127.0.0.1");
  try {
    const guard = createGuard({
      resource: resource ?? `http://localhost:${own}/mcp`,
      authorizationServers: [issuer],
      scopes: ["notes:read"],
      scopesSupported: ["notes:write"],
      resourceName: "Notes",
      ...(dpop && { dpop }),
      ...(dpopNonce && { dpopNonce }),
      ...(onRefusal && { onRefusal }),
    });
    const notes = notebook();
    const mcp = createMcpHandler(() => notesServer(guard, notes));
    const serveMcp = toNodeHandler(mcp);
    const guarded = protect(guard, (request, response) => serveMcp(withAuthInfo(guard, request), response));
    for (const server of servers) server.on("request", onlyAt(new URL(guard.resource).pathname, guarded));
    // "localhost" may mean either address to a client; a machine without IPv6 does without.
    await listen(servers[1], own, "::1").catch(() => undefined);
    return { resource: guard.resource, port: own, close: () => Promise.all([mcp.close(), ...servers.map(close)]).then(() => undefined) };
  } catch (error) {
    await close(servers[0]);
    throw error;
  }
}

/** Nothing but the resource and its metadata document lives here. */
function onlyAt(path: string, guarded: RequestListener): RequestListener {
  return (request, response) => {
    const [asked = "/"] = (request.url ?? "/").split("?", 1);
    if (asked === path || asked.startsWith("/.well-known/oauth-protected-resource")) guarded(request, response);
    else response.writeHead(404).end();
  };
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port; // of a TCP server, which it is
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  if (server.listening) await new Promise((closed) => server.close(closed));
}
