import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import Koa, { type Next, type ParameterizedContext } from "koa";
import { isRefusal, Refusal } from "../../errors.ts";
import type { FrontTelemetry } from "../ports.ts";
import { clientAddress } from "./address.ts";
import { apiErrorPrinter, printError, routePattern } from "./errors.ts";
import { Exchange } from "./exchange.ts";
import { inFlight } from "./in-flight.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { ErrorPrinter, FrontContext, FrontState, RouteGroup } from "./routes.ts";
import { assertSingleFields } from "./single-fields.ts";
import { noSuchMethod, type Target, targets } from "./targets.ts";

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

/**
 * The HTTP front: one function around all routes. Fixed paths are found by a map and answered without more ado, the rest goes to Koa and
 * its routers.
 */
export function createApp(options: AppOptions): RequestListener {
  const { telemetry, lifecycle } = options;
  const requests = inFlight(options.cap, options.deadline);
  const targetOf = targets(options.issuer, options.groups);

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
  const routed: Target = { name: "router", print: routedPrinter(options), essential: false, answer: byRouters };
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
    const target = targetOf(req);
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

/** Prints what no route of a router answered: in the shape of the router that has the path, else as outside all routes. */
function routedPrinter(options: AppOptions): ErrorPrinter {
  const outside = outsidePrinter(options);
  const printers = new Map<object, ErrorPrinter>();
  for (const { router, print } of options.groups)
    for (const layer of router?.stack ?? []) if (print && layer.methods.length > 0) printers.set(layer, print);
  return (ctx, refusal) => {
    const layers: readonly object[] = (ctx as ParameterizedContext<FrontState>).matched ?? [];
    const print = layers.map((layer) => printers.get(layer)).find((one) => one !== undefined) ?? outside;
    print(ctx, refusal);
  };
}

/** Stands in until a request is under way, and has a signal of its own. */
const NEVER = new AbortController().signal;
const nothingNext = async (): Promise<void> => {};

async function byRouters(ctx: FrontContext, next: Next): Promise<void> {
  await next();
  assertAnswered(ctx);
}

/** What no router answered, or answered with an empty refusal of the method. */
function assertAnswered(ctx: FrontContext): void {
  if (ctx.body !== undefined && ctx.body !== null) return;
  if (ctx.status === 404) throw new Refusal("not_found", "no_such_path");
  if (ctx.status === 405 || ctx.status === 501) throw noSuchMethod();
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

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const methodWord = (method: string): string => (METHODS.has(method) ? method : "other");
const secondsSince = (started: number): number => (performance.now() - started) / 1000;
