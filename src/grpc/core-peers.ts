import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connectivityState, type Metadata } from "@grpc/grpc-js";
import { Refusal } from "../errors.ts";
import { shared } from "../load-once.ts";
import { type Connections, type CoreAddress, connectToCore, isLoopback, keepConnections, unbracketed } from "./core-channel.ts";
import type { CoreStream } from "./core-stream.ts";
import { type CoreStreams, keepCoreStreams } from "./core-streams.ts";

/** Finds all addresses of a name, again every `every` milliseconds. */
export interface Names {
  readonly resolve: (name: string) => Promise<readonly string[]>;
  readonly every: number;
}

const DNS: Names = { resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address), every: 2_000 };

/** The cores of a front, each with connections and streams of its own. */
export interface CorePeers {
  /** A stream that takes questions now, of each core in turn. */
  pick(): CoreStream | undefined;
  /** Whether a stream is about to open: a core has accepted streams before, and one is opening. */
  opening(): boolean;
  /**
   * A connection for a unary call: an open one, if there is any before `until` (by performance.now()).
   * @throws {Refusal} temporarily_unavailable while the name of the cores has no address
   */
  client(until: number): Promise<Client>;
  close(): void;
}

interface Peer {
  readonly connections: Connections;
  readonly streams: CoreStreams;
}

/** Connections and streams to a core: on this machine, behind the only address of a name (perhaps a balancer's), or one of several. */
const SPREAD = { near: { connections: 1, streams: 1 }, only: { connections: 2, streams: 4 }, several: { connections: 1, streams: 2 } };

/** Milliseconds between two checks for an open connection, and the most that a call waits for one. */
const TIMES = { look: 20, wait: 1_000 } as const;

/** Milliseconds by a monotonic clock. */
const now = (): number => performance.now();

/**
 * Keeps connections to every address of the cores' name, which is resolved again and again. A core that has left the name keeps its peer as
 * long as it serves streams; one that hangs opens none.
 */
export function keepPeers(address: CoreAddress, metadata: Metadata, { resolve, every }: Names = DNS): CorePeers {
  const host = unbracketed(new URL(address.url).hostname);
  const peers = new Map<string, Peer>();
  const add = (at: string, spread: keyof typeof SPREAD) => {
    if (peers.has(at)) return;
    const connections = keepConnections(() => connectToCore(address, at), SPREAD[spread].connections);
    peers.set(at, { connections, streams: keepCoreStreams(connections, SPREAD[spread].streams, metadata, now) });
  };
  const remove = (at: string, { connections, streams }: Peer) => {
    streams.close();
    connections.close();
    peers.delete(at);
  };
  let closed = false;
  // One at a time: each occupies a thread for as long as the name service does not answer.
  const look = shared(async () => {
    const found = await resolve(host).catch((): readonly string[] => []);
    if (closed || found.length === 0) return; // an outage of the name service changes nothing
    for (const at of found) add(at, found.length === 1 ? "only" : "several");
    for (const [at, peer] of peers) if (!found.includes(at) && peer.streams.pick() === undefined) remove(at, peer);
  });
  const isFixed = isIP(host) !== 0 || isLoopback(host);
  if (isFixed) add(host, isLoopback(host) ? "near" : "only");
  if (!isFixed) void look();
  const timer = isFixed ? undefined : setInterval(() => void look(), every).unref();
  let turn = 0;
  const inTurn = <Each>(each: readonly Each[]): readonly Each[] => {
    turn = (turn + 1) % Math.max(1, each.length);
    return [...each.slice(turn), ...each.slice(0, turn)];
  };

  return {
    pick() {
      let busy: CoreStream | undefined;
      for (const { streams } of inTurn([...peers.values()])) {
        const found = streams.pick();
        if (found?.busy() === false) return found;
        busy ??= found;
      }
      return busy;
    },
    opening: () => [...peers.values()].some(({ streams }) => streams.opening()),
    async client(until) {
      if (peers.size === 0) await Promise.race([look(), sleep(until - now(), undefined, { ref: false })]);
      for (const patience = Math.min(until, now() + TIMES.wait); ; await sleep(TIMES.look)) {
        const clients = inTurn([...peers.values()].flatMap(({ connections }) => connections.all()));
        const states = clients.map((client) => client.getChannel().getConnectivityState(true));
        const open = clients[states.indexOf(connectivityState.READY)];
        if (open !== undefined) return open;
        const [any] = clients;
        if (any === undefined) throw new Refusal("temporarily_unavailable", "core_unresolved", { retryAfter: 1 });
        // A single connection has its own queue for calls, and its own failure.
        const hopeless = states.every((state) => state === connectivityState.TRANSIENT_FAILURE);
        if (clients.length === 1 || hopeless || now() > patience) return any;
      }
    },
    close() {
      closed = true;
      clearInterval(timer);
      for (const [at, peer] of peers) remove(at, peer);
    },
  };
}
