import type { IncomingMessage, ServerResponse } from "node:http";
import { principalOfRequest } from "./admissions.ts";
import { demandOfRoute } from "./given-guard.ts";
import type { Guard } from "./guard.ts";
import { judge, send, setHeaders } from "./node-request.ts";
import { assertKind, FUNCTION, needed } from "./option-table.ts";
import type { Principal } from "./principal.ts";
import type { RouteOptions } from "./route.ts";
import { warn } from "./warning.ts";

/** A listener of node:http behind the guard. Its request carries no token. */
export type GuardedListener = (request: IncomingMessage, response: ServerResponse, principal: Principal) => unknown;

/**
 * Wraps a listener of node:http: serves the metadata document, refuses what must be refused, hands on the rest.
 * A listener that fails is answered 500 when it has not begun its answer, and cut off otherwise.
 */
export function protect(guard: Guard, listener: GuardedListener, route: RouteOptions = {}) {
  assertKind("the listener of protect", listener, needed(FUNCTION));
  const demand = demandOfRoute(guard, route);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let given = response.getHeaderNames();
    try {
      const verdict = await judge(guard, request, demand);
      if ("answer" in verdict) return send(response, verdict.answer);
      setHeaders(response, verdict);
      given = response.getHeaderNames();
      await listener(request, response, verdict.principal);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else {
        // They describe another answer: a Content-Length would make the client wait for a body that never comes.
        for (const name of response.getHeaderNames()) if (!given.includes(name)) response.removeHeader(name);
        send(response, { status: 500, headers: {}, body: "" });
      }
      warn(error); // servers do not await this promise
    }
  };
}

/** The principal of a request that the guard let in. @throws {Error} when it did not pass the guard */
export const principalOf: (request: IncomingMessage) => Principal = principalOfRequest;
