import { STATUS_CODES } from "node:http";
import { CATALOGUE, type Refusal, type RefusalCode } from "../../errors.ts";
import { noStore } from "./headers.ts";
import type { ErrorPrinter, HotContext } from "./routes.ts";

/** Seconds after which a client may repeat a request that was answered 503. */
const DEFAULT_RETRY_AFTER = 5;

/** OAuth error codes for refusals whose code OAuth does not define. */
const OAUTH_WORD: { readonly [C in RefusalCode]?: string } = {
  payload_too_large: "invalid_request",
  unsupported_media_type: "invalid_request",
  method_not_allowed: "invalid_request",
};

/** @param challenge the value of WWW-Authenticate, where a refusal has one  @param body of the response with this status */
const errorPrinter =
  (
    challenge: (refusal: Refusal | undefined) => string | undefined,
    body: (refusal: Refusal | undefined, status: number) => object,
  ): ErrorPrinter<HotContext> =>
  (ctx, refusal) => {
    noStore(ctx);
    const header = challenge(refusal);
    if (header !== undefined) ctx.set("WWW-Authenticate", header);
    ctx.status = refusal === undefined ? 500 : CATALOGUE[refusal.code].http;
    setRetryHeaders(ctx, refusal);
    ctx.set("Content-Type", "application/json");
    ctx.body = JSON.stringify(body(refusal, ctx.status));
  };

/** `{error, error_description?}` for everything below /oauth. @see RFC 6749 §5.2, docs/protocol.md#error-bodies */
export const oauthErrorPrinter = (issuer: string): ErrorPrinter<HotContext> =>
  errorPrinter((refusal) => (refusal?.code === "invalid_client" ? `Basic realm="${issuer}", charset="UTF-8"` : undefined), oauthBody);

/**
 * The same body with the challenge of a resource that accepts bearer tokens. A request without credentials gets the realm and no error.
 * @param neededScope the scope that the resource requires, named when it is missing  @see RFC 6750 §3
 */
export const bearerErrorPrinter = (issuer: string, neededScope: string): ErrorPrinter<HotContext> =>
  errorPrinter(bearerChallenge(issuer, neededScope), (refusal) => (refusal?.code === "unauthenticated" ? {} : oauthBody(refusal)));

/** The credential that a resource requires: a bearer token, the session of a signed-in browser, or address and password in the body. */
export type Challenge = "Bearer" | "Session" | "Password";

/**
 * `{statusCode, error, message, issues?}` for everything that is neither OAuth nor a page.
 * @param scheme the challenge of a 401. Session and Password are not registered, so that no browser shows a password dialog
 */
export const apiErrorPrinter = (issuer: string, scheme: Challenge = "Bearer"): ErrorPrinter<HotContext> =>
  errorPrinter(scheme === "Bearer" ? bearerChallenge(issuer) : plainChallenge(issuer, scheme), (refusal, statusCode) => {
    const error = STATUS_CODES[statusCode] ?? "Error";
    const issues = refusal?.detail.issues;
    return { statusCode, error, message: refusal?.detail.description ?? `${error}.`, ...(issues && { issues }) };
  });

/** Sets when to come back, and closes the connection where the rest of a body stays unread. */
export function setRetryHeaders(ctx: HotContext, refusal: Refusal | undefined): void {
  const status = refusal && CATALOGUE[refusal.code].http;
  const wait = refusal?.detail.retryAfter ?? (status === 503 ? DEFAULT_RETRY_AFTER : undefined);
  if (wait !== undefined) ctx.set("Retry-After", String(Math.max(1, Math.ceil(wait))));
  if (status === 413) ctx.set("Connection", "close");
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
