import { Refusal } from "../errors.ts";
import { keepConversations } from "./conversations.ts";
import { type CoreAddress, connectToCore, frontMetadata } from "./core-channel.ts";
import { timeLimit } from "./deadline.ts";
import { type AnyCall, type TokenCore, tokenCoreOf } from "./local.ts";
import { isLoopback } from "./loopback.ts";
import { callOnce } from "./unary-call.ts";

export interface RemoteTokenCore extends TokenCore {
  /** Whether a core answers this front right now. Never throws; takes at most a second. */
  ready(): Promise<boolean>;
  /** Calls that are under way are refused. */
  close(): Promise<void>;
}

/** Milliseconds that `ready` waits. */
const READY_LIMIT = 1_000;

/** Connections and streams of a front: one core on this machine, or perhaps several behind one name or one address. */
const SPREAD = { near: { connections: 1, streams: 1 }, far: { connections: 2, streams: 4 } } as const;

/**
 * The token core of another process, or of several behind one name. Calls travel together on long-lived streams where the core knows them,
 * one by one where it does not. A call is repeated only when it has not left this process, or was turned away unread (the transport sees to
 * that).
 */
export function remoteTokenCore(address: CoreAddress): RemoteTokenCore {
  const spread = SPREAD[isLoopback(new URL(address.url).hostname) ? "near" : "far"];
  const clients = Array.from({ length: spread.connections }, () => connectToCore(address));
  const metadata = frontMetadata(address);
  const conversations = keepConversations(clients, spread.streams, metadata, () => performance.now());
  let turn = 0;
  const core = tokenCoreOf(
    (name, method): AnyCall =>
      async (request, options) => {
        if (options?.signal?.aborted) throw new Refusal("temporarily_unavailable", "caller_gone");
        const until = performance.now() + Math.min(timeLimit(name), options?.timeoutMs ?? Number.POSITIVE_INFINITY);
        const budget = () => until - performance.now();
        const answer = await conversations.pick()?.ask({ name, request, budget: budget(), signal: options?.signal });
        if (answer !== undefined) return answer;
        turn = (turn + 1) % clients.length;
        const client = clients[turn];
        if (client === undefined) throw new Error("a front has at least one connection");
        return callOnce(client, metadata, method, request, budget(), options?.signal);
      },
  );
  return {
    ...core,
    ready: () =>
      core.publicKeys({}, { timeoutMs: READY_LIMIT }).then(
        () => true,
        () => false,
      ),
    async close() {
      conversations.close();
      for (const client of clients) client.close();
    },
  };
}
