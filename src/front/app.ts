import Koa, { type Next } from "koa";
import { Refusal } from "../errors.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { clientAddress } from "./middleware/address.ts";
import { apiErrorPrinter, printError, routePattern } from "./middleware/errors.ts";
import { answerPreflight, openToScripts } from "./middleware/headers.ts";
import { inFlight } from "./middleware/in-flight.ts";
import { assertSingleFields } from "./middleware/single-fields.ts";
import type { FrontTelemetry } from "./ports.ts";
import type { ErrorPrinter, FixedRoute, FrontContext, FrontState, Handler, RouteGroup } from "./routes.ts";

export interface AppOptions {
  readonly issuer: string;
  readonly groups: readonly RouteGroup[];
  readonly telemetry: FrontTelemetry;
  readonly lifecycle: Lifecycle;
  /** A fresh id for each request. */
  readonly requestId: () => string;
  /** Whether X-Forwarded-For is believed. */
  readonly trustProxy?: boolean;
  /** Requests in flight above which others are told to come back. */
  readonly cap?: number;
  /** Milliseconds that a request may take. */
  readonly deadline?: number;
}

/** The route that a request goes to, with the words that it is known by in metrics. */
interface Target {
  readonly name: string;
  readonly print: ErrorPrinter;
  readonly essential: boolean;
  readonly answer: (ctx: FrontContext, next: Next) => Promise<void> | void;
}

/**
 * The HTTP front: one function around all routes, fixed paths by a map, the rest by routers.
 * Paths below the issuer's own path are taken with and without it, so that it matters not whether a proxy cuts it off.
 */
export function createApp(options: AppOptions): Koa<FrontState> {
  const { telemetry, lifecycle } = options;
  const basePath = new URL(options.issuer).pathname.replace(/\/$/, "");
  const requests = inFlight(options.cap, options.deadline);
  const targetOf = targets(options);
  const app = new Koa<FrontState>();
  app.on("error", (error: unknown) => {
    if (!isOfTheConnection(error)) telemetry.fault({ requestId: "", route: "response", error });
  });
  app.use(async (ctx, next) => {
    const started = performance.now();
    ctx.state.requestId = options.requestId();
    ctx.state.address = clientAddress(ctx.req, options.trustProxy ?? false);
    ctx.set("X-Request-Id", ctx.state.requestId);
    ctx.set("X-Content-Type-Options", "nosniff");
    if (lifecycle.isDraining()) ctx.set("Connection", "close");
    const target = targetOf(ctx, pathOf(ctx, basePath));
    try {
      await requests.run((signal, receive) => {
        ctx.state.signal = signal;
        ctx.state.receive = receive;
        assertSingleFields(ctx.req);
        return target.answer(ctx, next);
      }, target.essential);
    } catch (error) {
      printError(ctx, error, target.print, telemetry.fault, target.name);
    }
    telemetry.observe(
      target.name === "router" ? routePattern(ctx) : target.name,
      methodWord(ctx.method),
      ctx.status,
      secondsSince(started),
    );
  });
  for (const { router } of options.groups) if (router !== undefined) app.use(router.routes()).use(router.allowedMethods());
  return app;
}

/** Finds a request's target. All functions are made once, here. */
function targets({ issuer, groups }: AppOptions): (ctx: FrontContext, path: string | undefined) => Target {
  const print = apiErrorPrinter(issuer);
  const fixed = new Map<string, FixedTargets>();
  for (const [path, route] of groups.flatMap((group) => Object.entries(group.fixed ?? {}))) {
    if (fixed.has(path)) throw new Error(`two routes for ${path}`);
    fixed.set(path, fixedTargets(path, route));
  }
  const routed: Target = {
    name: "router",
    print,
    essential: false,
    async answer(ctx, next) {
      await next();
      assertAnswered(ctx);
    },
  };
  const badPath: Target = { ...routed, name: "unknown", answer: () => refuse(new Refusal("invalid_request", "bad_request_target")) };
  return (ctx, path) => {
    if (path === undefined) return badPath;
    const route = fixed.get(path);
    return route === undefined ? routed : (route.byMethod.get(ctx.method) ?? route.other);
  };
}

interface FixedTargets {
  readonly byMethod: ReadonlyMap<string, Target>;
  readonly other: Target;
}

function fixedTargets(name: string, { methods, print, cors, essential }: FixedRoute): FixedTargets {
  const shared = { name, print, essential: essential ?? false };
  const target = (handler: Handler): Target => ({ ...shared, answer: cors ? openly(handler) : handler });
  const byMethod = new Map(Object.entries(methods).map(([method, handler]) => [method, target(handler)]));
  const get = byMethod.get("GET");
  if (get !== undefined) byMethod.set("HEAD", get);
  const allow = [...byMethod.keys()];
  const other = target((ctx) => {
    if (cors && ctx.method === "OPTIONS") return answerPreflight(ctx, allow);
    ctx.set("Allow", allow.join(", "));
    refuse(new Refusal("method_not_allowed", "method_not_allowed"));
  });
  return { byMethod, other };
}

const openly =
  (handler: Handler): Handler =>
  (ctx) => {
    openToScripts(ctx);
    return handler(ctx);
  };

/** What no router answered, or answered with an empty refusal of the method. */
function assertAnswered(ctx: FrontContext): void {
  if (ctx.body !== undefined && ctx.body !== null) return;
  if (ctx.status === 404) refuse(new Refusal("not_found", "no_such_path"));
  if (ctx.status === 405 || ctx.status === 501) refuse(new Refusal("method_not_allowed", "method_not_allowed"));
}

/**
 * The path as it was sent, less the issuer's own path. An absolute request target (RFC 9112 §3.2.2) loses its authority, which is never believed.
 * @returns undefined for a target that is no path
 */
function pathOf(ctx: FrontContext, basePath: string): string | undefined {
  const url = (ctx.req.url ?? "").replace(/^https?:\/\/[^/?#]*/i, "");
  if (!url.startsWith("/")) return undefined;
  const below = basePath !== "" && (url === basePath || url.startsWith(`${basePath}/`) || url.startsWith(`${basePath}?`));
  ctx.req.url = below ? url.slice(basePath.length).replace(/^(?!\/)/, "/") : url;
  const mark = ctx.req.url.indexOf("?");
  return mark === -1 ? ctx.req.url : ctx.req.url.slice(0, mark);
}

/** A client that went away or stopped speaking HTTP in the middle of a request is no fault of ours, and nothing to fill a log with. */
function isOfTheConnection(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return code.startsWith("HPE_") || CONNECTION_CODES.has(code);
}

const CONNECTION_CODES: ReadonlySet<string> = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ERR_HTTP_REQUEST_TIMEOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

function refuse(refusal: Refusal): never {
  throw refusal;
}

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const methodWord = (method: string): string => (METHODS.has(method) ? method : "other");
const secondsSince = (started: number): number => (performance.now() - started) / 1000;
