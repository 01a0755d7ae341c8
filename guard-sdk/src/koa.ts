import type { IncomingMessage, ServerResponse } from "node:http";
import { principalOfRequest } from "./admissions.ts";
import { EXPOSED, type HttpAnswer, mergeExposed } from "./answer.ts";
import { assertGuard, demandOfRoute } from "./given-guard.ts";
import type { Guard } from "./guard.ts";
import { judge, metadataAnswer } from "./node-request.ts";
import type { Principal } from "./principal.ts";
import type { RouteOptions } from "./route.ts";

/** What the guard uses of a Koa context. */
export interface Context {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The target of the request; `req.url` loses the path below which an application is mounted. */
  readonly originalUrl: string;
  readonly state: Record<string, unknown>;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
  remove(name: string): void;
}

/** A middleware of Koa. */
export type Middleware = (ctx: Context, next: () => Promise<unknown>) => Promise<unknown>;

/** Serves the metadata document at its addresses; belongs at the root of the application. */
export function metadata(guard: Guard): Middleware {
  assertGuard("metadata", guard);
  return async (ctx, next) => {
    const answer = metadataAnswer(guard, ctx.req, ctx.originalUrl);
    return answer === undefined ? next() : give(ctx, answer);
  };
}

/** Lets in only requests with a good token; takes the token off them. The principal is in `ctx.state.principal` and by principalOf. */
export function protect(guard: Guard, route: RouteOptions = {}): Middleware {
  const demand = demandOfRoute(guard, route);
  return async (ctx, next) => {
    const verdict = await judge(guard, ctx.req, demand, ctx.originalUrl);
    if ("answer" in verdict) return give(ctx, verdict.answer);
    ctx.state.principal = verdict.principal;
    ctx.set(mergeExposed(verdict, ctx.res.getHeader(EXPOSED)));
    return next();
  };
}

/** The principal of a context that the guard let in. @throws {Error} when it did not pass the guard */
export const principalOf = (ctx: { readonly req: IncomingMessage }): Principal => principalOfRequest(ctx.req);

function give(ctx: Context, answer: HttpAnswer): void {
  ctx.status = answer.status;
  ctx.body = answer.body;
  if (answer.body === "") ctx.remove("Content-Type"); // Koa takes any string for text
  ctx.set(mergeExposed(answer, ctx.res.getHeader(EXPOSED)));
}
