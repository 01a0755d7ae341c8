import type { IncomingMessage, ServerResponse } from "node:http";
import { principalOfRequest } from "./admissions.ts";
import { scopesOfRoute } from "./given-guard.ts";
import type { Guard } from "./guard.ts";
import { judge, send } from "./node-request.ts";
import { assertKind, FUNCTION, needed } from "./option-table.ts";
import type { Principal } from "./principal.ts";
import type { RouteOptions } from "./route.ts";

/** A listener of node:http behind the guard. Its request carries no token. */
export type GuardedListener = (request: IncomingMessage, response: ServerResponse, principal: Principal) => unknown;

/**
 * Wraps a listener of node:http: serves the metadata document, refuses what must be refused, hands on the rest.
 * A listener that fails is answered 500 when it has not begun its answer, and cut off otherwise.
 */
export function protect(guard: Guard, listener: GuardedListener, route: RouteOptions = {}) {
  assertKind("the listener of protect", listener, needed(FUNCTION));
  const scopes = scopesOfRoute(guard, route);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const verdict = await judge(guard, request, scopes);
      if ("answer" in verdict) send(response, verdict.answer);
      else await listener(request, response, verdict.principal);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else send(response, { status: 500, headers: {}, body: "" });
      // Servers do not await this promise; the error must neither get lost nor end the process.
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  };
}

/** The principal of a request that the guard let in. @throws {Error} when it did not pass the guard */
export const principalOf: (request: IncomingMessage) => Principal = principalOfRequest;
