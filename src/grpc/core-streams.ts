import type { Client, Metadata } from "@grpc/grpc-js";
import type { Connections } from "./core-channel.ts";
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
