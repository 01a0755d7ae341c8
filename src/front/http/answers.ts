import { hash } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { CLIENT_ASSERTION_ALGORITHMS } from "../../clients/client.ts";
import { CATALOGUE, type Refusal, type RefusalCode } from "../../errors.ts";
import { type ErrorPrinter, type HotContext, pathText } from "./routes.ts";

/** Responses that hold credentials or depend on them must not be cached (RFC 6749 §5.1). */
export function noStore(ctx: HotContext): void {
  ctx.set("Cache-Control", "no-store");
  ctx.set("Pragma", "no-cache");
}

/** Sends JSON that must not be cached. Undefined members are left out, so that `null` is never sent. */
export function sendJson(ctx: HotContext, body: object, status = 200): void {
  noStore(ctx);
  ctx.status = status;
  ctx.set("Content-Type", "application/json");
  ctx.body = JSON.stringify(body);
}

/** Sends 200 without content, which must not be cached. */
export function sendNothing(ctx: HotContext): void {
  noStore(ctx);
  ctx.status = 200;
  ctx.body = "";
  ctx.remove("Content-Type"); // Koa gives a text one
}

/** Without `form-action`: browsers apply it to the redirect that follows a form, and would block the redirect to the client. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'";

/** For pages whose script sends requests to this server. */
export const SCRIPTED_POLICY = `${PAGE_POLICY}; connect-src 'self'`;

/** Pages between an application and its answer. In a window that the application opened, an isolated page would cut the two off from each other for good. */
const BETWEEN = /^\/(?:oauth|login|signin|signup|forgot|consent|logout|account\/security\/app)(?:\/|$)/;

/** Sets the headers of every page. One with an additional script has a wider policy. */
export function pageHeaders(ctx: HotContext, policy: string = PAGE_POLICY): void {
  noStore(ctx);
  ctx.set("Content-Security-Policy", policy);
  ctx.set("X-Frame-Options", "DENY");
  ctx.set("Referrer-Policy", "no-referrer");
  if (!BETWEEN.test(pathText(ctx))) ctx.set("Cross-Origin-Opener-Policy", "same-origin");
}

/**
 * The `DPoP` header of a request, as it was sent. Several are one value with commas, which is no proof (RFC 9449 §4.3).
 * @param htu the URL of the request, built from the issuer: the host that a request names proves nothing
 */
export function sentProof({ req, method }: HotContext, htu: string) {
  const { dpop } = req.headers;
  return dpop === undefined ? undefined : { proof: String(dpop), htm: method, htu };
}

const DPOP_TOKEN = /^dpop +([A-Za-z0-9._~+/-]+=*) *$/i;

/** Whether a request presents its token under the scheme `DPoP` (RFC 9449 §7.1). */
export const usesDpop = ({ req }: Pick<HotContext, "req">): boolean => /^dpop(?: |$)/i.test(req.headers.authorization ?? "");

/** The token of the scheme `DPoP` and its proof, which is empty if none was sent; undefined for another scheme. */
export function boundToken(ctx: HotContext, issuer: string) {
  const accessToken = DPOP_TOKEN.exec(ctx.req.headers.authorization ?? "")?.[1];
  const htu = `${issuer}${pathText(ctx)}`;
  return accessToken === undefined ? undefined : { accessToken, dpop: sentProof(ctx, htu) ?? { proof: "", htm: ctx.method, htu } };
}

/** Gives the client the nonce for its next proof, if there is one (RFC 9449 §8). */
export function giveNonce(ctx: HotContext, dpopNonce: string | undefined): void {
  if (dpopNonce !== undefined) ctx.set("DPoP-Nonce", dpopNonce);
}

/** Let scripts of any origin read the response, without credentials. Always set, so that a shared cache cannot confuse responses. */
export const OPEN_TO_SCRIPTS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "WWW-Authenticate, Retry-After, DPoP-Nonce",
};

/**
 * Headers of every response of a route, whatever is requested. Browsers are kept to https (HSTS, RFC 6797) for this host alone: names below
 * it may run services of others.
 */
export const fixedHeaders = (isOpen: boolean | undefined, https: boolean): readonly (readonly [name: string, value: string])[] =>
  Object.entries({
    "X-Content-Type-Options": "nosniff",
    ...(https && { "Strict-Transport-Security": "max-age=31536000" }),
    ...(isOpen && OPEN_TO_SCRIPTS),
  });

/**
 * Permits every header: Swagger UI, interceptors and tracing add headers of their own, and none of them means anything here.
 * `*` does not include `Authorization` (Fetch, CORS-preflight fetch).
 */
export function answerPreflight(ctx: HotContext, methods: readonly string[]): void {
  ctx.set("Access-Control-Allow-Methods", methods.join(", "));
  ctx.set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version, *");
  ctx.set("Access-Control-Max-Age", "600");
  ctx.status = 204;
}

/** Redirects the browser: 302 after a GET, 303 after a form, so that a form is never sent on (OAuth 2.1 §7.5.3). */
export function sendRedirect(ctx: HotContext, location: string): void {
  noStore(ctx);
  ctx.set("Referrer-Policy", "no-referrer");
  ctx.set("Location", location);
  ctx.status = ctx.method === "POST" ? 303 : 302;
  ctx.body = "";
}

/** A document that is made once and sent unchanged. */
export type PreparedDocument = Readonly<ReturnType<typeof prepareDocument>>;

/** A text is kept as text: Node sends it in one write with its headers, which it does not do for bytes. */
export function prepareDocument(body: string | Buffer, contentType: string) {
  return { body, contentType, etag: `"${hash("sha256", body, "base64url").slice(0, 27)}"` };
}

/** Of a file whose path contains a hash of its content. */
export const FOREVER = "public, max-age=31536000, immutable";
/** Of the content that this release has under such a name, where a page of another release asks for its own. */
export const NOT_KEPT = "no-store";

/**
 * Sends the document, or 304 where the client already has it (RFC 9110 §13.1.2).
 * @param caching whether caches may keep it; by default they revalidate at each use
 */
export function sendDocument(ctx: HotContext, { body, contentType, etag }: PreparedDocument, caching = "no-cache"): void {
  ctx.set("Cache-Control", caching);
  ctx.set("ETag", etag);
  if (holds(ctx.req.headers["if-none-match"], etag)) {
    ctx.status = 304;
    return;
  }
  ctx.set("Content-Type", contentType);
  ctx.body = body;
}

/** Weak comparison, as the header requires. */
const holds = (header: string | undefined, etag: string): boolean =>
  header?.split(",").some((entry) => entry.trim() === "*" || entry.trim().replace(/^W\//, "") === etag) ?? false;

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
const SENT_WRONGLY: readonly string[] = ["malformed_bearer", "credential_in_query", "token_sent_twice", "authorization_repeated"];

/** A wrong proof is 401 where a token is presented (RFC 9449 §7.1, §9). */
const atResource = (code: RefusalCode): number => (OF_PROOFS.includes(code) ? 401 : CATALOGUE[code].http);

const bearerChallenge =
  (issuer: string, neededScope?: string) =>
  (refusal: Refusal | undefined, dpop: boolean): string | undefined =>
    refusal && tokenChallenge(refusal, issuer, dpop, neededScope);

/**
 * The challenge of a resource that accepts access tokens; one for each scheme where the request had no token.
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
  const algorithms = `algs="${CLIENT_ASSERTION_ALGORITHMS.join(" ")}"`;
  if (error === undefined) return `Bearer realm="${issuer}", DPoP realm="${issuer}", ${algorithms}`;
  const parts = [
    `realm="${issuer}"`,
    `error="${error}"`,
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
    ...(detail.stepUp?.acrValues === undefined ? [] : [`acr_values="${detail.stepUp.acrValues}"`]),
    ...(detail.stepUp === undefined ? [] : [`max_age="${detail.stepUp.maxAge}"`]),
    ...(dpop ? [algorithms] : []),
  ];
  return `${dpop ? "DPoP" : "Bearer"} ${parts.join(", ")}`;
}

const plainChallenge =
  (issuer: string, scheme: Challenge) =>
  (refusal: Refusal | undefined): string | undefined =>
    refusal !== undefined && CATALOGUE[refusal.code].http === 401 ? `${scheme} realm="${issuer}"` : undefined;
