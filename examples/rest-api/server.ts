import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createGuard, type GuardOptions } from "@countersign/guard";
import { notebook } from "../mcp-server/notes.ts";
import { notesApi } from "./api.ts";

export interface NotesApiOptions {
  /** The authorization server whose tokens are accepted. */
  readonly issuer: string;
  /** The address by which clients know this server. Default: the root of the port it listens on. */
  readonly resource?: string | undefined;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Told, by fixed words, why a request was refused. */
  readonly onRefusal?: NonNullable<GuardOptions["onRefusal"]>;
}

export interface NotesApi {
  readonly resource: string;
  readonly origin: string;
  close(): Promise<void>;
}

/**
 * Starts the guarded API on 127.0.0.1.
 * @throws {TypeError} when issuer or resource cannot be guarded; the error of the socket when the port is taken
 */
export async function startNotesApi({ issuer, resource, port = 0, onRefusal }: NotesApiOptions): Promise<NotesApi> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // of a TCP server, which it is
  const close = async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  };
  try {
    const guard = createGuard({
      resource: resource ?? origin,
      authorizationServers: [issuer],
      scopes: ["notes:read"],
      scopesSupported: ["notes:write"],
      resourceName: "Notes",
      ...(onRefusal && { onRefusal }),
    });
    server.on("request", notesApi(guard, notebook()));
    return { resource: guard.resource, origin, close };
  } catch (error) {
    await close();
    throw error;
  }
}
