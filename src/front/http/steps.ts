import type { IncomingMessage } from "node:http";
import compose, { type Middleware } from "koa-compose";
import type { RandomBytes } from "../../clock.ts";
import { isRefusal, Refusal } from "../../errors.ts";
import { answerPreflight, openToScripts } from "./headers.ts";
import type { InFlight } from "./in-flight.ts";
import type { Handler, HotContext, RouteOf } from "./routes.ts";

/** The middleware that each request passes, whether Koa's context or a `LightContext` carries it. */

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
}

/** The part of a route that its middleware needs. */
export type Step<Context> = Pick<RouteOf<Context>, "print" | "answer" | "essential" | "cors"> & { readonly name: string };

/** Sets the headers of every response, and observes the response once it is complete. */
export const observing =
  <Context extends HotContext>({ telemetry, lifecycle }: EdgeOptions): Middleware<Context> =>
  async (ctx, next) => {
    const started = performance.now();
    const { state } = ctx;
    ctx.set("X-Request-Id", state.requestId);
    ctx.set("X-Content-Type-Options", "nosniff");
    if (lifecycle.isDraining()) ctx.set("Connection", "close");
    await next();
    telemetry.observe(
      state.route,
      METHODS.has(ctx.method) ? ctx.method : "other",
      ctx.status,
      (performance.now() - started) / 1000,
      state.requestId,
    );
  };

/** The middleware of one route: errors are printed in its shape, then limits apply, then it answers. */
export function routeSteps<Context extends HotContext>(step: Step<Context>, { telemetry, requests }: EdgeOptions): Middleware<Context> {
  const { name, print, answer, essential = false, cors } = step;
  const printing: Middleware<Context> = async (ctx, next) => {
    ctx.state.route = name;
    try {
      await next();
    } catch (error) {
      const refusal = isRefusal(error) ? error : undefined;
      const where = { requestId: ctx.state.requestId, route: name };
      if (refusal === undefined) telemetry.fault({ ...where, error });
      print(ctx, refusal);
      if (refusal !== undefined) telemetry.refused(refusal, where);
    }
  };
  const limited: Middleware<Context> = (ctx) =>
    requests.run((signal, receive) => {
      ctx.state.signal = signal;
      ctx.state.receive = receive;
      assertSingleFields(ctx.req);
      if (cors) openToScripts(ctx);
      return answer(ctx);
    }, essential);
  return compose<Context>([printing, limited]);
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
const DECISIVE_FIELDS: ReadonlyMap<number, string> = new Map(["content-type", "authorization"].map((name) => [name.length, name]));

/** Refuses a repeated Content-Type or Authorization: a proxy may read the other. @throws {Refusal} invalid_request @see RFC 9110 §5.3 */
export function assertSingleFields({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): void {
  let seen = "";
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index] ?? "";
    const name = DECISIVE_FIELDS.get(sent.length);
    if (name === undefined || sent.toLowerCase() !== name) continue;
    if (seen.includes(name)) {
      throw new Refusal("invalid_request", "header_repeated", { description: "A header field was sent more than once." });
    }
    seen += name;
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

/** Whether this front still accepts traffic. One per process. */
export type Lifecycle = ReturnType<typeof lifecycle>;

export function lifecycle() {
  let draining = false;
  return {
    isDraining: (): boolean => draining,
    /** From now on health reports `draining` and every response closes its connection. Idempotent. */
    startDraining(): void {
      draining = true;
    },
  };
}
