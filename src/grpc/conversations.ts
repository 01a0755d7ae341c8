import type { Client, Metadata } from "@grpc/grpc-js";
import type { Connections } from "./connections.ts";
import { type Conversation, openConversation, type StreamEnd } from "./conversation.ts";

/** The streams of a front, kept open and renewed. */
export interface Conversations {
  /** One that can be asked right now; undefined while there is none: then the unary methods do. */
  pick(): Conversation | undefined;
  /** Whether one can be asked within a moment: cores have answered streams before, and one is being opened. */
  readonly opening: () => boolean;
  close(): void;
}

/**
 * Milliseconds after which a stream is replaced, so that the load finds its way to cores that came later. Less than a connection's grace.
 */
const RENEWAL = 15_000;
/** Milliseconds until the next attempt: after a stream that ended, after a core of an earlier release, and after one that hangs. */
const PAUSE: Record<StreamEnd, number> = { closed: 250, unknown: 60_000, hung: 0 };

interface Lane {
  current?: Conversation | undefined;
  /** Replaces `current` as soon as the core has answered it. */
  next?: Conversation | undefined;
  openedAt: number;
  notBefore: number;
}

/**
 * @param connections over which the streams are spread in turn  @param count of streams
 * @param now milliseconds of a clock that never steps
 */
export function keepConversations(connections: Connections, count: number, metadata: Metadata, now: () => number): Conversations {
  const lanes: Lane[] = Array.from({ length: count }, () => ({ openedAt: 0, notBefore: 0 }));
  let turn = 0;
  let closed = false;
  let understood = false;

  const open = (lane: Lane, client: Client) => {
    const conversation: Conversation = openConversation(client, metadata, (end) => {
      if (end === "unknown") understood = false;
      if (end === "hung") connections.replace(client);
      if (lane.next === conversation || lane.current === conversation) lane.notBefore = now() + PAUSE[end];
      if (lane.next === conversation) lane.next = undefined;
      if (lane.current === conversation) lane.current = undefined;
    });
    lane.next = conversation;
    lane.openedAt = now();
  };
  const tend = (lane: Lane, index: number): Conversation | undefined => {
    if (lane.next?.state() === "open") {
      understood = true;
      lane.current?.retire();
      lane.current = lane.next;
      lane.next = undefined;
    }
    const aged = lane.current?.state() !== "open" || now() - lane.openedAt > RENEWAL;
    if (aged && lane.next === undefined && now() >= lane.notBefore) open(lane, connections.at(index));
    return lane.current?.state() === "open" ? lane.current : undefined;
  };

  return {
    pick() {
      if (closed) return undefined;
      turn = (turn + 1) % lanes.length;
      const usable = lanes.map(tend).filter((conversation) => conversation !== undefined);
      // One whose socket is free; a busy one gathers a batch meanwhile.
      const rotated = [...usable.slice(turn), ...usable.slice(0, turn)];
      return rotated.find((conversation) => !conversation.busy()) ?? rotated[0];
    },
    opening: () => understood && lanes.some(({ next }) => next?.state() === "opening"),
    close() {
      closed = true;
      for (const { current, next } of lanes) {
        current?.retire();
        next?.retire();
      }
    },
  };
}
