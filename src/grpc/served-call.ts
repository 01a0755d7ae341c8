import type { DescMessage, DescMethodUnary, Message, MessageInitShape } from "@bufbuild/protobuf";
import { type handleUnaryCall, type Server, type ServerUnaryCall, status } from "@grpc/grpc-js";
import { epochMillis } from "../clock.ts";
import { type ConcurrencyLimit, concurrencyLimit } from "../concurrency-limit.ts";
import { isRefusal, Refusal } from "../errors.ts";
import { timeToAnswer, withinBudget } from "./deadline.ts";
import { type Received, servedMethod } from "./definition.ts";
import { statusOf } from "./refusal.ts";

export type UnaryCall = ServerUnaryCall<Received, unknown>;
export type Answer = MessageInitShape<DescMessage>;

/** Receives an error that is not a refusal, and the name of the method. */
export type OnFault = (fault: unknown, method: string) => void;

/** Times are milliseconds. */
export interface CallTerms {
  readonly method: string;
  readonly limit: number;
  /** Undefined when the caller set no deadline. */
  readonly callerWaits?: number | undefined;
  /** Receives a function to be called when the caller leaves. */
  readonly onLeave: (leave: () => void) => void;
}

export type RunCall = <T>(terms: CallTerms, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** Runs calls within their deadlines and the limit on calls in flight; reports each fault once. */
export function callRunner(calls: ConcurrencyLimit, onFault: OnFault): RunCall {
  return async ({ method, limit, callerWaits, onLeave }, work) => {
    try {
      return await withinBudget(timeToAnswer(limit, callerWaits), onLeave, (signal) => calls.run(() => work(signal)));
    } catch (thrown) {
      if (!isRefusal(thrown)) onFault(thrown, method);
      throw thrown;
    }
  };
}

/** The terms of a gRPC call. */
export const callTerms = (call: Pick<UnaryCall, "getDeadline" | "on">, method: string, limit: number): CallTerms => ({
  method,
  limit,
  callerWaits: Number(call.getDeadline()) - epochMillis(),
  onLeave: (leave) => call.on("cancelled", leave),
});

export const authorizationOf = (call: Pick<UnaryCall, "metadata">): string[] => call.metadata.get("authorization").map(String);

/** How a method is served: `bytes` of a request at most, and `limit` in milliseconds. */
export interface UnaryService {
  readonly bytes: number;
  readonly limit: number;
  readonly answer: (request: Message, call: UnaryCall, signal: AbortSignal) => Promise<Answer>;
  readonly admits?: ((call: UnaryCall) => boolean) | undefined;
}

/** Has no ErrorDetail: it is for operators, and fronts must not relay it as their caller's fault. */
export const NOT_ADMITTED = { code: status.UNAUTHENTICATED, details: "this service is for fronts, which must present their credential" };

export function serveUnary(server: Server, method: DescMethodUnary, run: RunCall, { bytes, limit, answer, admits }: UnaryService): void {
  const handle: handleUnaryCall<Received, unknown> = (call, done) => {
    if (admits && !admits(call)) {
      done(NOT_ADMITTED);
      return;
    }
    run(callTerms(call, method.name, limit), async (signal) => {
      if (call.request.refusal) throw call.request.refusal;
      return answer(call.request.message, call, signal);
    }).then(
      (value) => done(null, value),
      (thrown: unknown) => done(statusOf(thrown)),
    );
  };
  server.addService({ [method.localName]: servedMethod(method, bytes) }, { [method.localName]: handle });
}

/** Calls in flight of one process. */
export const MAX_IN_FLIGHT = 256;

/** Thrown for each call above the limit: in a flood, a new error with its stack would cost a tenth of a refusal. */
const FULL = new Refusal("temporarily_unavailable", "too_many_in_flight", { retryAfter: 1 });

/** Admits `limit` calls at once and refuses all others with temporarily_unavailable, without a queue. */
export const admission = (limit: number): ConcurrencyLimit => concurrencyLimit({ limit, queue: 0, full: () => FULL });
