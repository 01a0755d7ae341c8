import { type IncomingMessage, METHODS, type RequestListener, type ServerResponse } from "node:http";
import { Router } from "@koa/router";
import Koa from "koa";
import { type BodyBudget, bodyBudget } from "../../body-budget.ts";
import { Refusal } from "../../errors.ts";
import { ADMISSION } from "./admission.ts";
import { apiErrorPrinter, fixedHeaders } from "./answers.ts";
import {
  type ErrorPrinter,
  type FrontContext,
  type FrontState,
  type Handler,
  type HotContext,
  lightContext,
  NO_STATE,
  pathsOf,
  pathText,
  type Route,
} from "./routes.ts";
import { commonHeaders, type EdgeOptions, inFlight, methodLabel, OVERLOADED, refuseMethod, routeSteps, type Step } from "./steps.ts";

export interface AppOptions extends Omit<EdgeOptions, "requests" | "https"> {
  readonly issuer: string;
  readonly routes: readonly Route[];
  /** What answers paths in front of Koa and its steps. */
  readonly listeners?: ReadonlyMap<string, RequestListener>;
  /** A fresh id for each request. */
  readonly requestId: () => string;
  readonly addressOf: (req: IncomingMessage) => string;
  /** Requests in flight above which others are answered 503; by default 512, and of hot routes as many as the event loop bears (admission.ts). */
  readonly cap?: number;
  /** Of the bodies that are arriving, shared with other listeners of the process; by default a budget of its own. */
  readonly bodies?: BodyBudget;
  /** Milliseconds that a request may take. */
  readonly deadline?: number;
  /** Prints "not found" for a browser; without it browsers get JSON like every other client. */
  readonly page?: ErrorPrinter;
  /** Whether hot routes are answered in front of Koa, which is the default. The parity test answers them both ways. */
  readonly hot?: boolean;
}

/** The HTTP front: Koa and its router around all routes, and a lighter way for the hot ones. */
export function createApp(options: AppOptions): RequestListener {
  const { telemetry, issuer, routes } = options;
  const edge: EdgeOptions = {
    telemetry,
    lifecycle: options.lifecycle,
    requests: inFlight(options.cap ?? ADMISSION.most, options.deadline),
    https: issuer.startsWith("https:"),
  };
  const bodies = options.bodies ?? bodyBudget();
  const stateOf = (req: IncomingMessage): FrontState => ({
    ...NO_STATE,
    requestId: options.requestId(),
    address: options.addressOf(req),
    bodies,
  });
  const reportResponse = (error: unknown): void => {
    if (!isOfTheConnection(error)) telemetry.fault({ requestId: "", route: "response", error });
  };

  const koa = new Koa<FrontState>();
  koa.on("error", reportResponse);
  const routed = routerOf(routes, edge).routes();
  const unrouted = routeSteps<FrontContext>({ name: "unknown", print: unroutedPrinter(options), answer: refusePath }, edge);
  koa.use((context) => {
    const ctx = context as FrontContext; // the router adds what is missing
    Object.assign(ctx.state, stateOf(ctx.req));
    const path = pathText(ctx);
    // Koa's parser throws for some targets that are no path, and drops a fragment and some white space: such targets match no route.
    return path.startsWith("/") && ctx.path === path ? routed(ctx, () => unrouted(ctx)) : unrouted(ctx);
  });
  const viaKoa = koa.callback();

  // Counted apart: a flood of sign-ins that wait for their hashes keeps no client from its tokens, and is itself not refused for busy clients.
  const hotEdge = { ...edge, requests: inFlight(options.cap, options.deadline) };
  const hotRoutes = options.hot === false ? new Map() : hotRoutesOf(options, hotEdge);
  const basePath = new URL(issuer).pathname.replace(/\/$/, "");
  return (req, res) => {
    const path = takePath(req, basePath);
    const hot = hotRoutes.get(path)?.get(req.method ?? "");
    const listener = hot === undefined ? options.listeners?.get(path) : undefined;
    if (listener !== undefined) {
      observeListener(path, options.requestId(), req, res, edge);
      listener(req, res);
    } else if (hot === undefined) void viaKoa(req, res);
    else if (hot.refuse !== undefined && hotEdge.requests.isFull()) hot.refuse(res);
    else hot.answer(lightContext(req, res, stateOf(req))).catch(reportResponse);
  };
}

/** All routes, those without parameters first; every other method of their paths is refused. */
function routerOf(routes: readonly Route[], edge: EdgeOptions): Router<FrontState> {
  const router = new Router<FrontState>({ sensitive: true, strict: true });
  const byPath = Map.groupBy(
    routes.flatMap((route) => pathsOf(route).map((path) => ({ ...route, path }))),
    ({ path }) => path,
  );
  const paths = [...byPath].sort(([one], [other]) => Number(hasParameter(one)) - Number(hasParameter(other)));
  for (const [path, ofPath] of paths) {
    for (const route of ofPath) {
      const answer = hasParameter(path) ? unencoded(route.answer) : route.answer;
      const steps = routeSteps<FrontContext>({ ...route, name: path, answer }, edge);
      router.register(patternOf(path), [route.method], steps);
    }
    const allow = allowedMethods(ofPath, path);
    const { print, cors } = ofPath[0] as Route;
    const steps = routeSteps<FrontContext>({ name: path, print, cors, answer: unencoded(refuseMethod(allow, cors)) }, edge);
    router.register(
      patternOf(path),
      METHODS.filter((method) => !allow.includes(method)),
      steps,
    );
  }
  return router;
}

function allowedMethods(routes: readonly Route[], path: string): readonly string[] {
  const methods = routes.map(({ method }) => method);
  if (new Set(methods).size < methods.length) throw new Error(`two routes for one method of ${path}`);
  return methods.includes("GET") ? [...methods, "HEAD"] : methods;
}

/** A hot route: what answers it, and what refuses a request above the limit; an essential one is never refused. */
interface HotRoute {
  readonly answer: (ctx: HotContext) => Promise<void>;
  readonly refuse: ((res: ServerResponse) => void) | undefined;
}

function hotRoutesOf(options: AppOptions, edge: EdgeOptions): Map<string, Map<string, HotRoute>> {
  const byPath = new Map<string, Map<string, HotRoute>>();
  for (const route of options.routes.filter((one): one is Extract<Route, { hot: true }> => one.hot === true))
    for (const name of pathsOf(route)) {
      const answer = routeSteps<HotContext>({ ...route, name }, edge);
      const refuse = route.essential ? undefined : refusing({ ...route, name }, options.requestId, edge);
      const byMethod = byPath.get(name) ?? new Map();
      byPath.set(name, byMethod);
      for (const method of route.method === "GET" ? ["GET", "HEAD"] : [route.method]) byMethod.set(method, { answer, refuse });
    }
  return byPath;
}

const hasParameter = (path: string): boolean => path.includes("/:");
/** The path as a pattern of the router: an issuer's path may contain characters that mean something there. */
const patternOf = (path: string): string => path.replace(/(?<!\/)[:*{}()[\]+?!\\]/g, "\\$&");

/** No parameter needs percent-encoding: a path that has it names nothing, which the route's own error shape says. */
const unencoded =
  (answer: Handler): Handler =>
  (ctx) => {
    if (ctx.path.includes("%")) throw new Refusal("not_found", "no_such_path");
    return answer(ctx);
  };

function refusePath(ctx: HotContext): never {
  if (!pathText(ctx).startsWith("/")) throw new Refusal("invalid_request", "bad_request_target");
  throw new Refusal("not_found", "no_such_path");
}

/** Prints what no route answered: a page for a browser that follows a wrong link, JSON for every other client. */
function unroutedPrinter({ issuer, page }: AppOptions): ErrorPrinter {
  const json = apiErrorPrinter(issuer);
  return (ctx, refusal) => {
    const offersPage = page !== undefined && refusal?.code === "not_found";
    if (offersPage) ctx.vary("Accept");
    if (offersPage && ctx.accepts("json", "html") === "html") page(ctx, refusal);
    else json(ctx, refusal);
  };
}

/**
 * Removes the issuer's path from `req.url`, which a proxy may have removed already, and the untrusted authority of an absolute request
 * target (RFC 9112 §3.2.2). @returns the path that is left, as it was sent
 */
function takePath(req: IncomingMessage, basePath: string): string {
  const sent = req.url ?? "";
  const url = sent.startsWith("/") ? sent : sent.replace(/^https?:\/\/[^/?#]*/i, "");
  if (!url.startsWith("/")) return "";
  const below = basePath !== "" && (url === basePath || url.startsWith(`${basePath}/`) || url.startsWith(`${basePath}?`));
  req.url = below ? url.slice(basePath.length).replace(/^(?!\/)/, "/") : url;
  const query = req.url.indexOf("?");
  return query === -1 ? req.url : req.url.slice(0, query);
}

/** The status of a request whose caller left before it was whole, as a body that ends early has. */
const LEFT = 400;

/** Does for a request in front of Koa what the steps do for all others but their limits: headers of every response, and its observation. */
function observeListener(path: string, requestId: string, { method }: IncomingMessage, res: ServerResponse, edge: EdgeOptions): void {
  const started = performance.now();
  commonHeaders({ set: (name, value) => res.setHeader(name, value) }, requestId, fixedHeaders(false, edge.https), edge.lifecycle);
  res.once("close", () => {
    const status = res.headersSent ? res.statusCode : LEFT;
    edge.telemetry.observe(path, methodLabel(method), status, (performance.now() - started) / 1000, requestId);
  });
}

/** A client that disconnects or stops speaking HTTP in the middle of a request is not a fault of the server. */
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

/**
 * Refuses requests of one hot route while the front is full, as the route would print it. It is printed once: what refusals cost under a
 * flood is lost to the requests that are served.
 */
function refusing(
  { name, method, print, cors }: Step<HotContext> & { readonly method: string },
  requestId: () => string,
  edge: EdgeOptions,
): (res: ServerResponse) => void {
  const printed = (res: ServerResponse) => {
    const ctx = lightContext({ method, headers: {} } as IncomingMessage, res);
    for (const [header, value] of fixedHeaders(cors, edge.https)) ctx.set(header, value);
    print(ctx, OVERLOADED);
    return ctx.complete();
  };
  let once: ReturnType<typeof printed> | undefined;
  return (res) => {
    once ??= printed(res);
    const id = requestId();
    res.writeHead(once.status, ["X-Request-Id", id, ...once.lines, ...(edge.lifecycle.leaving ? ["Connection", "close"] : [])]);
    res.end(once.body);
    edge.telemetry.observe(name, method, once.status, 0, id);
    edge.telemetry.refused(OVERLOADED, { requestId: id, route: name });
  };
}
