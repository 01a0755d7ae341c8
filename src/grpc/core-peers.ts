import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connectivityState, type Metadata } from "@grpc/grpc-js";
import { Refusal } from "../errors.ts";
import { shared } from "../load-once.ts";
import { type Connections, type CoreAddress, connectToCore, isLoopback, keepConnections, unbracketed } from "./core-channel.ts";
import { type CoreStream, openCoreStream, type StreamEnd } from "./core-stream.ts";

/** Milliseconds after which a stream is replaced, so that new cores get their share; less than a connection's grace. */
const RENEWAL = 15_000;
/** Milliseconds until the next attempt, by how the last stream ended. */
const PAUSE: Record<StreamEnd, number> = { closed: 250, unknown: 60_000, hung: 0, late: 5_000 };

interface StreamSlot {
  current?: CoreStream | undefined;
  /** Replaces `current` once the core has accepted it. */
  next?: CoreStream | undefined;
  openedAt: number;
  notBefore: number;
}

export type CoreStreams = ReturnType<typeof keepCoreStreams>;

/**
 * The streams of a front, kept open and renewed.
 * @param connections over which the streams are spread in turn  @param count of streams
 * @param now milliseconds of a monotonic clock
 */
export function keepCoreStreams(connections: Connections, count: number, metadata: Metadata, now: () => number) {
  const slots: StreamSlot[] = Array.from({ length: count }, () => ({ openedAt: 0, notBefore: 0 }));
  let turn = 0;
  let closed = false;
  let understood = false;

  const open = (slot: StreamSlot, client: Client) => {
    const stream: CoreStream = openCoreStream(client, metadata, (end) => {
      if (end === "unknown") understood = false;
      if (end === "hung") connections.replace(client);
      if (slot.next === stream || slot.current === stream) slot.notBefore = now() + PAUSE[end];
      if (slot.next === stream) slot.next = undefined;
      if (slot.current === stream) slot.current = undefined;
    });
    slot.next = stream;
    slot.openedAt = now();
  };
  const tend = (slot: StreamSlot, index: number): CoreStream | undefined => {
    if (slot.next?.state() === "open") {
      understood = true;
      slot.current?.retire();
      slot.current = slot.next;
      slot.next = undefined;
    }
    const aged = slot.current?.state() !== "open" || now() - slot.openedAt > RENEWAL;
    if (aged && slot.next === undefined && now() >= slot.notBefore) open(slot, connections.at(index));
    return slot.current?.state() === "open" ? slot.current : undefined;
  };

  return {
    /** A stream that takes questions now; undefined: use unary methods. */
    pick(): CoreStream | undefined {
      if (closed) return undefined;
      turn = (turn + 1) % slots.length;
      const usable = slots.map(tend).filter((stream) => stream !== undefined);
      // Prefers a stream whose socket is free; a busy one gathers a batch.
      const rotated = [...usable.slice(turn), ...usable.slice(0, turn)];
      return rotated.find((stream) => !stream.busy()) ?? rotated[0];
    },
    /** Whether a stream is about to open: cores have accepted streams before, and one is opening. */
    opening: (): boolean => understood && slots.some(({ next }) => next?.state() === "opening"),
    close(): void {
      closed = true;
      for (const { current, next } of slots) {
        current?.retire();
        next?.retire();
      }
    },
  };
}

/** Finds all addresses of a name, again every `every` milliseconds. */
export interface Names {
  readonly resolve: (name: string) => Promise<readonly string[]>;
  readonly every: number;
}

const DNS: Names = { resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address), every: 2_000 };

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
 * long as it serves streams; one that hangs opens none. Each core has connections and streams of its own.
 */
export function keepPeers(address: CoreAddress, metadata: Metadata, { resolve, every }: Names = DNS) {
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
    /** A stream that takes questions now, of each core in turn. */
    pick(): CoreStream | undefined {
      let busy: CoreStream | undefined;
      for (const { streams } of inTurn([...peers.values()])) {
        const found = streams.pick();
        if (found?.busy() === false) return found;
        busy ??= found;
      }
      return busy;
    },
    /** Whether a stream is about to open: a core has accepted streams before, and one is opening. */
    opening: (): boolean => [...peers.values()].some(({ streams }) => streams.opening()),
    /**
     * A connection for a unary call: an open one, if there is any before `until` (by performance.now()).
     * @throws {Refusal} temporarily_unavailable while the name of the cores has no address
     */
    async client(until: number): Promise<Client> {
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
    close(): void {
      closed = true;
      clearInterval(timer);
      for (const [at, peer] of peers) remove(at, peer);
    },
  };
}
