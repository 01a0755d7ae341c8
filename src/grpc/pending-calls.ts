import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Refusal } from "../errors.ts";
import type { ConverseAnswer } from "../gen/countersign/token/v1/token_pb.ts";
import { mayBeRepeated } from "./deadline.ts";
import type { CallContext, TokenCoreMethod } from "./local.ts";
import { refusalOf } from "./refusal.ts";

export type Answer = MessageShape<DescMessage>;

/** A call of a front. */
export interface Question extends CallContext {
  readonly name: TokenCoreMethod;
  readonly request: MessageInitShape<DescMessage>;
  /** Milliseconds until the caller gives up. */
  readonly budget: number;
}

interface Pending extends Pick<Question, "name" | "request"> {
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (thrown: unknown) => void;
  /** By performance.now(): a refusal for the time being that comes later than this was not overload, which is refused at once. */
  readonly slowAfter: number;
  sent: boolean;
}

/** Calls in a row that end at a deadline, here or in the core, after which a stream is given up. */
const MOST_LATE = 3;

/**
 * The calls in flight of one stream.
 * @param onSettled called after each call that is settled  @param onLate called when calls keep ending at their deadlines
 */
export function pendingCalls(onSettled: () => void, onLate: () => void) {
  const pending = new Map<number, Pending>();
  let late = 0;
  const note = (isLate: boolean) => {
    late = isLate ? late + 1 : 0;
    if (late === MOST_LATE) onLate();
  };
  const take = (id: number): Pending | undefined => {
    const found = pending.get(id);
    pending.delete(id);
    return found;
  };
  return {
    isEmpty: (): boolean => pending.size === 0,
    /**
     * @param onGiveUp called when the caller has left or the budget is spent
     * @throws {Refusal} from `answer`: as the core refused, or `temporarily_unavailable` when no answer came
     */
    add(id: number, { name, request, budget, signal }: Question, onGiveUp: () => void) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
      const giveUp = (reason: string) => {
        if (take(id) === undefined) return;
        finish(() => reject(new Refusal("temporarily_unavailable", reason, { retryAfter: 1 })));
        onGiveUp();
        if (reason === "core_timeout") note(true);
      };
      const gone = () => giveUp("caller_gone");
      const timer = setTimeout(giveUp, Math.max(1, budget), "core_timeout"); // spent, where this process was busy
      signal?.addEventListener("abort", gone, { once: true });
      const finish = (how: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", gone);
        how();
        onSettled();
      };
      const call: Pending = {
        name,
        request,
        resolve: (answer) => finish(() => resolve(answer)),
        reject: (thrown) => finish(() => reject(thrown)),
        slowAfter: performance.now() + budget / 2,
        sent: false,
      };
      pending.set(id, call);
      return {
        answer: promise,
        /** To be called when it is passed to the socket: from then on it may arrive. */
        sendEvents(): void {
          call.sent = true;
        },
      };
    },
    settle({ id, result }: ConverseAnswer): void {
      const call = take(id);
      if (call === undefined) return; // its caller has left, or it is a ping
      const isWaiting = result.case === "refusal" && result.value.error === "temporarily_unavailable";
      note(isWaiting && performance.now() > call.slowAfter);
      if (result.case === call.name) call.resolve(result.value);
      else call.reject((result.case === "refusal" && refusalOf(result.value)) || new Error(`the token core failed at ${call.name}`));
    },
    /**
     * No answer will come. Calls that had not left, or can be made again, resolve to undefined and may be made elsewhere. Any other call
     * waits for its deadline, so that its client is not answered while the effect can still happen.
     */
    release(): void {
      for (const [id, { name, request, sent }] of pending) if (!sent || mayBeRepeated(name, request)) take(id)?.resolve(undefined);
    },
  };
}
