import { STATUS_CODES } from "node:http";
import { CLIENT_ASSERTION_ALGORITHMS } from "../../clients/client.ts";
import { CATALOGUE, type Refusal, type RefusalCode } from "../../errors.ts";
import { giveNonce, noStore, usesDpop } from "./headers.ts";
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
    challenge: (refusal: Refusal | undefined, dpop: boolean) => string | undefined,
    body: (refusal: Refusal | undefined, status: number) => object,
    statusOf = (code: RefusalCode): number => CATALOGUE[code].http,
  ): ErrorPrinter<HotContext> =>
  (ctx, refusal) => {
    noStore(ctx);
    const header = challenge(refusal, usesDpop(ctx));
    if (header !== undefined) ctx.set("WWW-Authenticate", header);
    ctx.status = refusal === undefined ? 500 : statusOf(refusal.code);
    setRetryHeaders(ctx, refusal);
    giveNonce(ctx, refusal?.detail.dpopNonce);
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
  errorPrinter(
    bearerChallenge(issuer, neededScope),
    (refusal) => (refusal?.code === "unauthenticated" ? {} : oauthBody(refusal)),
    atResource,
  );

/** The credential that a resource requires: a bearer token, the session of a signed-in browser, or address and password in the body. */
export type Challenge = "Bearer" | "Session" | "Password";

/**
 * `{statusCode, error, message, issues?}` for everything that is neither OAuth nor a page.
 * @param scheme the challenge of a 401. Session and Password are not registered, so that no browser shows a password dialog
 */
export const apiErrorPrinter = (issuer: string, scheme: Challenge = "Bearer"): ErrorPrinter<HotContext> =>
  errorPrinter(
    scheme === "Bearer" ? bearerChallenge(issuer) : plainChallenge(issuer, scheme),
    (refusal, statusCode) => {
      const error = STATUS_CODES[statusCode] ?? "Error";
      const issues = refusal?.detail.issues;
      return { statusCode, error, message: refusal?.detail.description ?? `${error}.`, ...(issues && { issues }) };
    },
    atResource,
  );

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

const OF_PROOFS: readonly RefusalCode[] = ["invalid_dpop_proof", "use_dpop_nonce"];
const NAMED_IN_CHALLENGE: readonly RefusalCode[] = [
  "invalid_request",
  "insufficient_scope",
  "invalid_token",
  "insufficient_user_authentication",
  ...OF_PROOFS,
];

/** Reasons of an `invalid_request` whose fault is how the token was sent. Every other one, such as a wrong body, has no challenge. */
const SENT_WRONGLY: readonly string[] = ["malformed_bearer", "credential_in_query", "token_sent_twice"];

/** A wrong proof is 401 where a token is presented (RFC 9449 §7.1, §9). */
const atResource = (code: RefusalCode): number => (OF_PROOFS.includes(code) ? 401 : CATALOGUE[code].http);

const bearerChallenge =
  (issuer: string, neededScope?: string) =>
  (refusal: Refusal | undefined, dpop: boolean): string | undefined =>
    refusal && tokenChallenge(refusal, issuer, dpop, neededScope);

/**
 * The challenge of a resource that accepts access tokens.
 * @param dpop whether the request presented its token under that scheme
 * @see RFC 6750 §3, RFC 9449 §7.1, RFC 9470 §3
 */
export function tokenChallenge(
  { code, reason, detail }: Pick<Refusal, "code" | "reason" | "detail">,
  issuer: string,
  dpop: boolean,
  neededScope?: string,
): string | undefined {
  if (atResource(code) !== 401 && code !== "insufficient_scope" && !SENT_WRONGLY.includes(reason)) return undefined;
  const scope = code === "insufficient_scope" ? (detail.scope ?? neededScope) : undefined;
  const error = NAMED_IN_CHALLENGE.includes(code) ? code : undefined;
  const parts = [
    `realm="${issuer}"`,
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
    ...(detail.stepUp?.acrValues === undefined ? [] : [`acr_values="${detail.stepUp.acrValues}"`]),
    ...(detail.stepUp === undefined ? [] : [`max_age="${detail.stepUp.maxAge}"`]),
    ...(dpop ? [`algs="${CLIENT_ASSERTION_ALGORITHMS.join(" ")}"`] : []),
  ];
  return `${dpop ? "DPoP" : "Bearer"} ${parts.join(", ")}`;
}

const plainChallenge =
  (issuer: string, scheme: Challenge) =>
  (refusal: Refusal | undefined): string | undefined =>
    refusal !== undefined && CATALOGUE[refusal.code].http === 401 ? `${scheme} realm="${issuer}"` : undefined;
