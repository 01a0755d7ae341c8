import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Refusal } from "../errors.ts";
import type { ConverseAnswer } from "../gen/countersign/token/v1/token_pb.ts";
import { hasEffect } from "./deadline.ts";
import type { TokenCoreMethod } from "./local.ts";
import { refusalOf } from "./refusal.ts";

export type Answer = MessageShape<DescMessage>;

interface Pending {
  readonly name: TokenCoreMethod;
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (thrown: unknown) => void;
  sent: boolean;
}

/** A call in flight. */
export interface Awaited {
  readonly answer: Promise<Answer | undefined>;
  /** To be called when it is passed to the socket: from then on it may arrive. */
  sendEvents(): void;
}

/** The calls in flight of one stream. */
export interface PendingCalls {
  /**
   * @param budget milliseconds  @param onGiveUp called when the caller has left or the budget is spent
   * @throws {Refusal} from `answer`: as the core refused, or `temporarily_unavailable` when no answer came
   */
  add(id: number, name: TokenCoreMethod, budget: number, signal: AbortSignal | undefined, onGiveUp: () => void): Awaited;
  settle(answer: ConverseAnswer): void;
  /**
   * No answer will come. Calls that had not left, or have no effect, resolve to undefined and may be made elsewhere. A call that may take
   * effect waits for its deadline, so that its client is not answered while the effect can still happen.
   */
  release(): void;
  readonly isEmpty: () => boolean;
}

const unanswered = (reason: string): Refusal => new Refusal("temporarily_unavailable", reason, { retryAfter: 1 });

/** @param onSettled called after each call that is settled */
export function pendingCalls(onSettled: () => void): PendingCalls {
  const pending = new Map<number, Pending>();
  const take = (id: number): Pending | undefined => {
    const found = pending.get(id);
    pending.delete(id);
    return found;
  };
  return {
    isEmpty: () => pending.size === 0,
    add(id, name, budget, signal, onGiveUp) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
      const giveUp = (reason: string) => {
        if (take(id) === undefined) return;
        finish(() => reject(unanswered(reason)));
        onGiveUp();
      };
      const gone = () => giveUp("caller_gone");
      const timer = setTimeout(giveUp, budget, "core_timeout");
      signal?.addEventListener("abort", gone, { once: true });
      const finish = (how: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", gone);
        how();
        onSettled();
      };
      const call: Pending = {
        name,
        resolve: (answer) => finish(() => resolve(answer)),
        reject: (thrown) => finish(() => reject(thrown)),
        sent: false,
      };
      pending.set(id, call);
      return {
        answer: promise,
        sendEvents: () => {
          call.sent = true;
        },
      };
    },
    settle({ id, result }) {
      const call = take(id);
      if (call === undefined) return; // its caller has left
      if (result.case === call.name) call.resolve(result.value);
      else call.reject((result.case === "refusal" && refusalOf(result.value)) || new Error(`the token core failed at ${call.name}`));
    },
    release() {
      for (const [id, { sent, name }] of pending) if (!sent || !hasEffect(name)) take(id)?.resolve(undefined);
    },
  };
}
