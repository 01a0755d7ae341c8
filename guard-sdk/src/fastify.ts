import type { IncomingMessage } from "node:http";
import { principalOfRequest } from "./admissions.ts";
import { EXPOSED, type HttpAnswer, mergeExposed } from "./answer.ts";
import { assertGuard, demandOfRoute } from "./given-guard.ts";
import type { Guard } from "./guard.ts";
import { judge, metadataAnswer } from "./node-request.ts";
import type { Principal } from "./principal.ts";
import type { RouteOptions } from "./route.ts";

/** What the guard uses of a Fastify request. */
export interface Request {
  readonly raw: IncomingMessage;
}

/** What the guard uses of a Fastify reply. */
export interface Reply {
  code(status: number): unknown;
  headers(values: Record<string, string>): unknown;
  getHeader(name: string): number | string | string[] | undefined;
  send(payload?: Uint8Array): unknown;
}

/** An `onRequest` hook of Fastify. */
export type Hook = (request: Request, reply: Reply) => Promise<unknown>;

/** Serves the metadata document at its addresses: `app.addHook("onRequest", metadata(guard))`, at the root of the application. */
export function metadata(guard: Guard): Hook {
  assertGuard("metadata", guard);
  return async (request, reply) => {
    const answer = metadataAnswer(guard, request.raw);
    return answer === undefined ? undefined : give(reply, answer);
  };
}

/** Lets in only requests with a good token; takes the token off them. An `onRequest` hook of a route, a plugin or the application. */
export function protect(guard: Guard, route: RouteOptions = {}): Hook {
  const demand = demandOfRoute(guard, route);
  return async (request, reply) => {
    const verdict = await judge(guard, request.raw, demand);
    if ("answer" in verdict) return give(reply, verdict.answer);
    reply.headers(mergeExposed(verdict, reply.getHeader(EXPOSED)));
    return undefined;
  };
}

/** The principal of a request that the guard let in. @throws {Error} when it did not pass the guard */
export const principalOf = (request: Request): Principal => principalOfRequest(request.raw);

/** Fastify takes a hook that answers its reply for one that has answered the request. */
function give(reply: Reply, answer: HttpAnswer): Reply {
  reply.code(answer.status);
  reply.headers(mergeExposed(answer, reply.getHeader(EXPOSED)));
  reply.send(answer.body === "" ? undefined : Buffer.from(answer.body)); // to the type of a text Fastify would add a charset
  return reply;
}
