import type { IncomingMessage } from "node:http";
import { isRefusal, Refusal } from "../../errors.ts";
import type { RandomBytes } from "../../random.ts";
import { admission } from "./admission.ts";
import { answerPreflight, fixedHeaders } from "./answers.ts";
import type { Handler, HotContext, Receive, RouteOf } from "./routes.ts";

/** The steps that each request passes, whether Koa's context or a `lightContext` carries it. */

interface Where {
  readonly requestId: string;
  /** The pattern of the route. */
  readonly route: string;
}

/** What the front reports to operators. It never contains a query, a body, a token or a secret. */
export interface FrontTelemetry {
  /** One answered request. `route` and `method` come from fixed sets, so that they can label a metric; `seconds` is the time it took. */
  readonly observe: (route: string, method: string, status: number, seconds: number, requestId: string) => void;
  readonly refused: (refusal: Refusal, where: Where) => void;
  /** An internal error: something other than a `Refusal` was thrown. */
  readonly fault: (fault: Where & { readonly error: unknown }) => void;
}

export interface EdgeOptions {
  readonly telemetry: FrontTelemetry;
  readonly lifecycle: Lifecycle;
  readonly requests: InFlight;
  /** Whether the issuer is https, to which browsers are then kept (HSTS, RFC 6797). */
  readonly https: boolean;
}

export type Step<Context> = Pick<RouteOf<Context>, "print" | "answer" | "essential" | "cors"> & { readonly name: string };

export function commonHeaders(
  ctx: Pick<HotContext, "set">,
  requestId: string,
  fixed: ReturnType<typeof fixedHeaders>,
  { leaving }: Lifecycle,
): void {
  ctx.set("X-Request-Id", requestId);
  for (const [name, value] of fixed) ctx.set(name, value);
  if (leaving) ctx.set("Connection", "close");
}

/** What every request of one route passes: limits apply, then the route answers; errors are printed in its shape, and the response is observed. */
export function routeSteps<Context extends HotContext>(step: Step<Context>, edge: EdgeOptions): (ctx: Context) => Promise<void> {
  const { name, print, answer, essential = false, cors } = step;
  const { telemetry, requests, lifecycle } = edge;
  const fixed = fixedHeaders(cors, edge.https);
  return async (ctx) => {
    const started = performance.now();
    const { state } = ctx;
    commonHeaders(ctx, state.requestId, fixed, lifecycle); // also on the refusals that precede the route
    try {
      await requests.run((signal, receive) => {
        state.signal = signal;
        state.receive = receive;
        assertDecisiveFields(ctx.req);
        return answer(ctx);
      }, essential);
    } catch (error) {
      const refusal = isRefusal(error) ? error : undefined;
      const where = { requestId: state.requestId, route: name };
      if (refusal === undefined) telemetry.fault({ ...where, error });
      print(ctx, refusal);
      if (refusal !== undefined) telemetry.refused(refusal, where);
    }
    ctx.send?.();
    telemetry.observe(name, methodLabel(ctx.method), ctx.status, (performance.now() - started) / 1000, state.requestId);
  };
}

/** Answers a method that a path does not take, and a preflight request where scripts of other origins may read it. */
export const refuseMethod =
  (allow: readonly string[], cors: true | undefined): Handler<HotContext> =>
  (ctx) => {
    if (cors && ctx.method === "OPTIONS") return answerPreflight(ctx, allow);
    ctx.set("Allow", allow.join(", "));
    throw new Refusal("method_not_allowed", "method_not_allowed", { description: "This path does not take this method; see Allow." });
  };

/** Header fields that decide how a request is read, by the length of their name. Node keeps the first of several. */
const DECISIVE_FIELDS: ReadonlyMap<number, string> = new Map(["host", "content-type", "authorization"].map((name) => [name.length, name]));

/** @see RFC 3986 §3.2.2, §3.2.3 */
const AUTHORITY = /^(?:\[[\w.:~%-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\dA-F]{2})*)(?::\d*)?$/i;

/**
 * Refuses a repeated Host, Content-Type or Authorization, of which a proxy may read the other, and a malformed Host.
 * @throws {Refusal} invalid_request
 * @see RFC 9110 §5.3, RFC 9112 §3.2
 */
export function assertDecisiveFields({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): void {
  let seen = "";
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index] ?? "";
    const name = DECISIVE_FIELDS.get(sent.length);
    if (name === undefined || sent.toLowerCase() !== name) continue;
    if (seen.includes(name)) {
      const reason = name === "authorization" ? "authorization_repeated" : "header_repeated";
      throw new Refusal("invalid_request", reason, { description: "A header field was sent more than once." });
    }
    seen += name;
    if (name === "host" && !AUTHORITY.test(rawHeaders[index + 1] ?? "")) {
      throw new Refusal("invalid_request", "host_malformed", { description: "The Host header field is malformed." });
    }
  }
}

/** Ids that are unique among all processes: a random part made once, and a count. They are not secret. */
export function requestIds(randomBytes: RandomBytes): () => string {
  const prefix = Buffer.from(randomBytes(9)).toString("base64url");
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
export const methodLabel = (method = ""): string => (METHODS.has(method) ? method : "other");

/** Whether this front still accepts traffic. One per process. */
export interface Lifecycle {
  /** Health reports it, so that balancers send no more. */
  draining: boolean;
  /** No connection is accepted any more, and every response closes its connection. */
  leaving?: boolean;
}

export type InFlight = ReturnType<typeof inFlight>;

type Work = (signal: AbortSignal, receive: Receive) => Promise<void> | void;

/** Thrown for each request: under a flood, a new error with its stack would cost a third of a refusal. */
export const OVERLOADED = new Refusal("temporarily_unavailable", "front_overloaded", { retryAfter: 1 });

/**
 * @param cap requests that may be in flight; by default adjusted to what the event loop bears
 * @param deadline milliseconds that each may take
 */
export function inFlight(cap?: number, deadline = 15_000) {
  const admitted = cap === undefined ? admission() : { limit: cap, arrived: () => undefined };
  let size = 0;
  const deadlines = commonDeadline(deadline);
  const receive: Receive = async (body) => {
    size -= 1;
    let received: Awaited<typeof body>;
    try {
      received = await body;
    } finally {
      size += 1;
    }
    if (size > admitted.limit) throw OVERLOADED;
    return received;
  };
  return {
    get size(): number {
      return size;
    },
    /** Whether a request that arrives now is refused, unless it is essential. */
    isFull(): boolean {
      admitted.arrived(size);
      return size >= admitted.limit;
    },
    /** Runs a request, an essential one even above the limit. @throws {Refusal} temporarily_unavailable above the limit, past the deadline */
    async run(work: Work, essential: boolean): Promise<void> {
      if (this.isFull() && !essential) throw OVERLOADED;
      size += 1;
      const abort = new AbortController();
      const overdue = Promise.withResolvers<never>();
      const slot = deadlines.begin(() => {
        const refusal = new Refusal("temporarily_unavailable", "deadline_passed", { retryAfter: 1 });
        abort.abort(refusal);
        overdue.reject(refusal);
      });
      try {
        await Promise.race([work(abort.signal, receive), overdue.promise]);
      } finally {
        size -= 1;
        deadlines.end(slot);
      }
    },
  };
}

/**
 * One timer for all requests, which waits for the oldest: a timer for each would cost more than the rest of this file.
 * Their slots are reused. A growing Set would leave old tables behind that keep requests alive until a full garbage collection.
 */
function commonDeadline(milliseconds: number) {
  const slots: ({ readonly until: number; readonly giveUp: () => void } | undefined)[] = []; // `until` by performance.now()
  const free: number[] = [];
  let armed = false;
  const arm = (wait: number): void => {
    armed = true;
    setTimeout(look, wait).unref(); // a request in flight has a socket that keeps the process alive
  };
  function look(): void {
    armed = false;
    const now = performance.now();
    const open = slots.filter((one) => one !== undefined);
    const rest = open.filter(({ until }) => until > now);
    if (rest.length > 0) arm(Math.min(...rest.map(({ until }) => until)) - now);
    for (const one of open) if (one.until <= now) one.giveUp();
  }
  return {
    /** @returns a slot, to be given back to `end` */
    begin(giveUp: () => void): number {
      const slot = free.pop() ?? slots.length;
      slots[slot] = { until: performance.now() + milliseconds, giveUp };
      if (!armed) arm(milliseconds);
      return slot;
    },
    end(slot: number): void {
      slots[slot] = undefined;
      free.push(slot);
    },
  };
}
