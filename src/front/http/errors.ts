import { STATUS_CODES } from "node:http";
import type { Middleware, ParameterizedContext } from "koa";
import { CATALOGUE, isRefusal, type Refusal, type RefusalCode } from "../../errors.ts";
import type { ReportFault } from "../ports.ts";
import { noStore } from "./headers.ts";
import type { ErrorPrinter, FrontContext, FrontState } from "./routes.ts";

/** Refusals whose code is none of OAuth's: on an OAuth endpoint the request as such is at fault, whatever the status says. */
const OAUTH_WORD: { readonly [C in RefusalCode]?: string } = {
  payload_too_large: "invalid_request",
  unsupported_media_type: "invalid_request",
  method_not_allowed: "invalid_request",
};

/**
 * `{error, error_description?}` for everything below /oauth.
 * @see RFC 6749 §5.2, specification §7.2
 */
export const oauthErrorPrinter = (issuer: string): ErrorPrinter => {
  const challenge = `Basic realm="${issuer}", charset="UTF-8"`;
  return (ctx, refusal) => {
    noStore(ctx);
    if (refusal?.code === "invalid_client") ctx.set("WWW-Authenticate", challenge);
    printStatus(ctx, refusal);
    printJson(ctx, oauthBody(refusal));
  };
};

/**
 * The same body with the challenge of a resource that takes bearer tokens. A request without credentials is told nothing but the realm: its
 * body names no error.
 * @param neededScope what the resource asks for, named when it is missing
 * @see RFC 6750 §3
 */
export const bearerErrorPrinter = (issuer: string, neededScope: string): ErrorPrinter => {
  const challenge = bearerChallenge(issuer, neededScope);
  return (ctx, refusal) => {
    noStore(ctx);
    const header = challenge(refusal);
    if (header !== undefined) ctx.set("WWW-Authenticate", header);
    printStatus(ctx, refusal);
    printJson(ctx, refusal?.code === "unauthenticated" ? {} : oauthBody(refusal));
  };
};

/** What a resource wants to see: a bearer token; the session of a signed-in browser; address and password in the body. */
export type Challenge = "Bearer" | "Session" | "Password";

/**
 * `{statusCode, error, message, issues?}` for everything that is neither OAuth nor a page.
 * @param scheme the challenge of a 401. Session and Password are no registered schemes: they say what is wanted, and make no browser ask
 */
export const apiErrorPrinter = (issuer: string, scheme: Challenge = "Bearer"): ErrorPrinter => {
  const challenge = scheme === "Bearer" ? bearerChallenge(issuer) : plainChallenge(issuer, scheme);
  return (ctx, refusal) => {
    noStore(ctx);
    const header = challenge(refusal);
    if (header !== undefined) ctx.set("WWW-Authenticate", header);
    const status = printStatus(ctx, refusal);
    const reason = STATUS_CODES[status] ?? "Error";
    const issues = refusal?.detail.issues;
    printJson(ctx, { statusCode: status, error: reason, message: refusal?.detail.description ?? `${reason}.`, ...(issues && { issues }) });
  };
};

/** For a router: prints what its routes throw. */
export const errorsAs =
  (print: ErrorPrinter, fault: ReportFault): Middleware<FrontState> =>
  async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      printError(ctx, error, print, fault, routePattern(ctx));
    }
  };

/** The pattern of the router's route that took the request, such as `/consents/:id`; never the path itself. */
export const routePattern = (ctx: ParameterizedContext<FrontState>): string =>
  typeof ctx._matchedRoute === "string" ? ctx._matchedRoute : "unknown";

/** Tells a refusal from a fault; the fault is reported once, with its cause. */
export function printError(ctx: FrontContext, error: unknown, print: ErrorPrinter, fault: ReportFault, route: string): void {
  const refusal = isRefusal(error) ? error : undefined;
  if (refusal === undefined) fault({ requestId: ctx.state.requestId, route, error });
  print(ctx, refusal);
}

function printStatus(ctx: FrontContext, refusal: Refusal | undefined): number {
  const status = refusal === undefined ? 500 : CATALOGUE[refusal.code].http;
  ctx.status = status;
  const wait = refusal?.detail.retryAfter ?? (status === 503 ? 5 : undefined);
  if (wait !== undefined) ctx.set("Retry-After", String(Math.max(1, Math.ceil(wait))));
  // The rest of the body stays unread, so the connection can carry no further request.
  if (status === 413) ctx.set("Connection", "close");
  return status;
}

function oauthBody(refusal: Refusal | undefined): { error: string; error_description?: string } {
  if (refusal === undefined) return { error: "server_error" };
  const error = OAUTH_WORD[refusal.code] ?? refusal.code;
  return refusal.detail.description === undefined ? { error } : { error, error_description: refusal.detail.description };
}

const bearerChallenge =
  (issuer: string, neededScope?: string) =>
  (refusal: Refusal | undefined): string | undefined => {
    if (refusal?.code === "insufficient_scope") {
      const scope = refusal.detail.scope ?? neededScope;
      return `Bearer realm="${issuer}", error="insufficient_scope"${scope === undefined ? "" : `, scope="${scope}"`}`;
    }
    if (refusal === undefined || CATALOGUE[refusal.code].http !== 401) return undefined;
    return refusal.code === "invalid_token" ? `Bearer realm="${issuer}", error="invalid_token"` : `Bearer realm="${issuer}"`;
  };

const plainChallenge =
  (issuer: string, scheme: Challenge) =>
  (refusal: Refusal | undefined): string | undefined =>
    refusal !== undefined && CATALOGUE[refusal.code].http === 401 ? `${scheme} realm="${issuer}"` : undefined;

function printJson(ctx: FrontContext, body: object): void {
  ctx.set("Content-Type", "application/json");
  ctx.body = JSON.stringify(body);
}
