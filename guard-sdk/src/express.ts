import type { IncomingMessage, ServerResponse } from "node:http";
import { principalOfRequest } from "./admissions.ts";
import { assertGuard, demandOfRoute } from "./given-guard.ts";
import type { Guard } from "./guard.ts";
import { judge, metadataAnswer, send, setHeaders } from "./node-request.ts";
import type { Principal } from "./principal.ts";
import type { RouteOptions } from "./route.ts";

/** A middleware of Express or Connect. */
export type Middleware = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;

/** Serves the metadata document at its addresses; belongs at the root of the application. */
export function metadata(guard: Guard): Middleware {
  assertGuard("metadata", guard);
  return (request, response, next) => {
    const answer = metadataAnswer(guard, request);
    if (answer === undefined) next();
    else send(response, answer);
  };
}

/** Lets in only requests with a good token; takes the token off them. Use principalOf in what follows. */
export function protect(guard: Guard, route: RouteOptions = {}): Middleware {
  const demand = demandOfRoute(guard, route);
  return (request, response, next) => {
    judge(guard, request, demand)
      .then((verdict) => {
        if ("answer" in verdict) return send(response, verdict.answer);
        setHeaders(response, verdict);
        next();
      })
      .catch(next); // also where a timeout has answered already: an unhandled rejection ends the process
  };
}

/** The principal of a request that the guard let in. @throws {Error} when it did not pass the guard */
export const principalOf: (request: IncomingMessage) => Principal = principalOfRequest;
