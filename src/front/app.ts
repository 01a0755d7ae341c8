import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import Koa, { type Next } from "koa";
import { isRefusal, Refusal } from "../errors.ts";
import { Exchange } from "./exchange.ts";
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
  /** Prints for a browser that there is nothing at a path; without it browsers get JSON like everyone else. */
  readonly page?: ErrorPrinter;
}

/** The route that a request goes to, with the words that it is known by in metrics. */
interface Target {
  readonly name: string;
  readonly print: ErrorPrinter;
  readonly essential: boolean;
  readonly answer: (ctx: FrontContext, next: Next) => Promise<void> | void;
}

/**
 * The HTTP front: one function around all routes. Fixed paths are found by a map and answered without more ado, the rest goes to Koa and its
 * routers. Paths below the issuer's own path are taken with and without it, so that it matters not whether a proxy cuts it off.
 */
export function createApp(options: AppOptions): RequestListener {
  const { telemetry, lifecycle } = options;
  const basePath = new URL(options.issuer).pathname.replace(/\/$/, "");
  const requests = inFlight(options.cap, options.deadline);
  const targetOf = targets(options);

  /** Answers into `ctx`; what is thrown becomes an answer too. @param pattern the route's word for metrics */
  const answer = async (ctx: FrontContext, target: Target, next: Next, pattern: () => string): Promise<void> => {
    const started = performance.now();
    const { requestId } = ctx.state;
    ctx.set("X-Request-Id", requestId);
    ctx.set("X-Content-Type-Options", "nosniff");
    if (lifecycle.isDraining()) ctx.set("Connection", "close");
    try {
      await requests.run((signal, receive) => {
        ctx.state.signal = signal;
        ctx.state.receive = receive;
        assertSingleFields(ctx.req);
        return target.answer(ctx, next);
      }, target.essential);
    } catch (error) {
      printError(ctx, error, target.print, telemetry.fault, target.name);
      if (isRefusal(error)) telemetry.refused(error, { requestId, route: target.name });
    }
    telemetry.observe(pattern(), methodWord(ctx.method), ctx.status, secondsSince(started), requestId);
  };
  const stateOf = (req: IncomingMessage): FrontState => ({
    requestId: options.requestId(),
    address: clientAddress(req, options.trustProxy ?? false),
    signal: NEVER,
    receive: (body) => body(),
  });

  const koa = new Koa<FrontState>();
  const responseFault = (error: unknown): void => {
    if (!isOfTheConnection(error)) telemetry.fault({ requestId: "", route: "response", error });
  };
  koa.on("error", responseFault);
  const routed: Target = { name: "router", print: outsidePrinter(options), essential: false, answer: byRouters };
  koa.use((ctx, next) => {
    Object.assign(ctx.state, stateOf(ctx.req));
    return answer(ctx, routed, next, () => routePattern(ctx));
  });
  for (const { router } of options.groups) if (router !== undefined) koa.use(router.routes()).use(router.allowedMethods());
  const routers = koa.callback();

  const fixed = async (req: IncomingMessage, res: ServerResponse, target: Target): Promise<void> => {
    const ctx = new Exchange(req, res, stateOf(req), (types) => koa.createContext(req, res).accepts([...types]));
    await answer(ctx, target, nothingNext, () => target.name);
    ctx.send();
  };
  return (req, res) => {
    const target = targetOf(req, pathOf(req, basePath));
    if (target === undefined) void routers(req, res);
    else fixed(req, res, target).catch(responseFault);
  };
}

/** Prints what lies outside all routes: a page for a browser that went astray, JSON for everyone else. */
function outsidePrinter({ issuer, page }: AppOptions): ErrorPrinter {
  const json = apiErrorPrinter(issuer);
  return (ctx, refusal) => {
    const astray = page !== undefined && refusal?.code === "not_found";
    if (astray) ctx.vary("Accept");
    if (astray && ctx.accepts("json", "html") === "html") page(ctx, refusal);
    else json(ctx, refusal);
  };
}

/** Stands in until a request is under way, and has a signal of its own. */
const NEVER = new AbortController().signal;
const nothingNext = async (): Promise<void> => {};

async function byRouters(ctx: FrontContext, next: Next): Promise<void> {
  await next();
  assertAnswered(ctx);
}

/** Finds a request's target, or undefined when it is one for the routers. All functions are made once, here. */
function targets({ issuer, groups }: AppOptions): (req: IncomingMessage, path: string | undefined) => Target | undefined {
  const fixed = new Map<string, FixedTargets>();
  for (const [path, route] of groups.flatMap((group) => Object.entries(group.fixed ?? {}))) {
    if (fixed.has(path)) throw new Error(`two routes for ${path}`);
    fixed.set(path, fixedTargets(path, route));
  }
  const badPath: Target = {
    name: "unknown",
    print: apiErrorPrinter(issuer),
    essential: false,
    answer: () => refuse(new Refusal("invalid_request", "bad_request_target")),
  };
  return (req, path) => {
    if (path === undefined) return badPath;
    const route = fixed.get(path);
    return route && (route.byMethod.get(req.method ?? "") ?? route.other);
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
    refuse(noSuchMethod());
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
  if (ctx.status === 405 || ctx.status === 501) refuse(noSuchMethod());
}

/**
 * The path as it was sent, less the issuer's own path. An absolute request target (RFC 9112 §3.2.2) loses its authority, which is never believed.
 * @returns undefined for a target that is no path
 */
function pathOf(req: IncomingMessage, basePath: string): string | undefined {
  const sent = req.url ?? "";
  const url = sent.startsWith("/") ? sent : sent.replace(/^https?:\/\/[^/?#]*/i, "");
  if (!url.startsWith("/")) return undefined;
  const below = basePath !== "" && (url === basePath || url.startsWith(`${basePath}/`) || url.startsWith(`${basePath}?`));
  req.url = below ? url.slice(basePath.length).replace(/^(?!\/)/, "/") : url;
  const mark = req.url.indexOf("?");
  return mark === -1 ? req.url : req.url.slice(0, mark);
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

const noSuchMethod = () =>
  new Refusal("method_not_allowed", "method_not_allowed", { description: "This path does not take this method; see Allow." });

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const methodWord = (method: string): string => (METHODS.has(method) ? method : "other");
const secondsSince = (started: number): number => (performance.now() - started) / 1000;
