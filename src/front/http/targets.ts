import type { IncomingMessage } from "node:http";
import type { Next } from "koa";
import { Refusal } from "../../errors.ts";
import { apiErrorPrinter } from "./errors.ts";
import { answerPreflight, openToScripts } from "./headers.ts";
import type { ErrorPrinter, FixedRoute, FrontContext, Handler, RouteGroup } from "./routes.ts";

/** The route that a request goes to, with the words that it is known by in metrics. */
export interface Target {
  readonly name: string;
  readonly print: ErrorPrinter;
  readonly essential: boolean;
  readonly answer: (ctx: FrontContext, next: Next) => Promise<void> | void;
}

/**
 * Finds a request's target, or undefined when it is one for the routers. All functions are made once, here. Paths below the issuer's own
 * path are taken with and without it, so that it matters not whether a proxy cuts it off.
 */
export function targets(issuer: string, groups: readonly RouteGroup[]): (req: IncomingMessage) => Target | undefined {
  const basePath = new URL(issuer).pathname.replace(/\/$/, "");
  const fixed = new Map<string, FixedTargets>();
  for (const [path, route] of groups.flatMap((group) => Object.entries(group.fixed ?? {}))) {
    if (fixed.has(path)) throw new Error(`two routes for ${path}`);
    fixed.set(path, fixedTargets(path, route));
  }
  const badPath: Target = {
    name: "unknown",
    print: apiErrorPrinter(issuer),
    essential: false,
    answer: () => {
      throw new Refusal("invalid_request", "bad_request_target");
    },
  };
  return (req) => {
    const path = pathOf(req, basePath);
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
    throw noSuchMethod();
  });
  return { byMethod, other };
}

const openly =
  (handler: Handler): Handler =>
  (ctx) => {
    openToScripts(ctx);
    return handler(ctx);
  };

/**
 * Takes the issuer's own path off `req.url`, and with it the authority of an absolute request target (RFC 9112 §3.2.2), which is never
 * believed.
 * @returns the path that is left, as it was sent; undefined for a target that is no path
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

export const noSuchMethod = () =>
  new Refusal("method_not_allowed", "method_not_allowed", { description: "This path does not take this method; see Allow." });
