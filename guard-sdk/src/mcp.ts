import type { IncomingMessage } from "node:http";
import {
  type AuthInfo,
  type McpHttpHandler,
  OAuthError,
  OAuthErrorCode,
  type OAuthTokenVerifier,
  type ScopeChallengeHandler,
} from "@modelcontextprotocol/server";
import { principalOfRequest } from "./admissions.ts";
import { assertGuard } from "./given-guard.ts";
import type { Guard } from "./guard.ts";
import { assertKind, having, needed, TEXTS } from "./option-table.ts";
import type { Principal } from "./principal.ts";
import { GuardRefusal } from "./refusal.ts";
import type { RouteOptions } from "./route.ts";
import { advertisedScopes, hasScopes, scopeList } from "./scopes.ts";

/**
 * The principal in the form in which the MCP SDK hands it to tools, as `ctx.http.authInfo`. `token` is empty: a tool has
 * no use for the inbound token but to pass it on, which it must not. `extra.principal` is the whole principal.
 */
export function authInfo(guard: Guard, principal: Principal): AuthInfo {
  return {
    token: "",
    clientId: principal.clientId ?? "",
    scopes: [...principal.scopes],
    expiresAt: principal.expiresAt,
    resource: new URL(guard.resource),
    resourceMetadataUrl: guard.metadataUrl,
    extra: { principal },
  };
}

/** The principal of a tool call, from `ctx.http.authInfo`. @throws {Error} when the call did not pass the guard */
export function principalOf(info: AuthInfo | undefined): Principal {
  const principal = info?.extra?.principal;
  if (principal === undefined) throw new Error("no principal: this call did not pass the guard");
  return principal as Principal; // authInfo is the only one who sets it
}

/** Guards a handler of createMcpHandler, for runtimes that speak Fetch. */
export function protectMcp(guard: Guard, handler: Pick<McpHttpHandler, "fetch">, route?: RouteOptions) {
  assertGuard("protectMcp", guard);
  assertKind("the second argument of protectMcp", handler, needed(having("fetch")));
  return guard.protect((request, principal) => handler.fetch(request, { authInfo: authInfo(guard, principal) }), route);
}

/** A request as the SDK's transports for Node expect it. Method and target are always there when a server received it. */
export type MarkedRequest<R extends IncomingMessage> = R & { auth: AuthInfo; method: string; url: string };

/**
 * Marks a node:http or Express request that passed the guard with what `toNodeHandler` and NodeStreamableHTTPServerTransport read.
 * @throws {Error} when it did not pass the guard
 */
export function withAuthInfo<R extends IncomingMessage>(guard: Guard, request: R): MarkedRequest<R> {
  const { method = "GET", url = "/" } = request;
  return Object.assign(request, { auth: authInfo(guard, principalOfRequest(request)), method, url });
}

/**
 * What a tool needs beyond the guard's own scopes: give it to `registerTool` as `scopeChallenge`. A call without these scopes is
 * answered 403 `insufficient_scope` with all that the call needs, the guard's own scopes included.
 */
export function toolScopes(guard: Guard, scopes: readonly [string, ...string[]]): ScopeChallengeHandler {
  assertGuard("toolScopes", guard);
  assertKind("the second argument of toolScopes", scopes, needed(TEXTS));
  const wanted = scopeList([...guard.scopes, ...scopes]);
  const [first, ...others] = advertisedScopes(wanted);
  if (first === undefined) throw new TypeError("a tool needs a scope that can be asked for");
  return ({ authInfo: info }) => (hasScopes(info?.scopes ?? [], wanted) ? undefined : { scopes: [first, ...others] });
}

/**
 * A token verifier for the SDK's own `requireBearerAuth`. Prefer `protect`: the SDK's middleware leaves the token on the
 * request, calls a request without credentials an error, and has no 503: an outage of the issuer becomes a 500 there.
 */
export function tokenVerifier(guard: Guard): OAuthTokenVerifier {
  assertGuard("tokenVerifier", guard);
  return {
    async verifyAccessToken(token) {
      try {
        return authInfo(guard, await guard.verifyToken(token));
      } catch (error) {
        if (!(error instanceof GuardRefusal)) throw error;
        const code = error.code === "temporarily_unavailable" ? OAuthErrorCode.ServerError : OAuthErrorCode.InvalidToken;
        throw new OAuthError(code, "the token was not accepted");
      }
    },
  };
}
