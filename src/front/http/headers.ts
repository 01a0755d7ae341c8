import { hash } from "node:crypto";
import { type HotContext, pathText } from "./routes.ts";

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

/** Without `form-action`: browsers apply it to the redirect that follows a form, and would block the redirect to the client. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'";

/** For pages whose script sends requests to this server. */
export const SCRIPTED_POLICY = `${PAGE_POLICY}; connect-src 'self'`;

/** Pages between an application and its answer. In a window that the application opened, an isolated page would cut the two off from each other for good. */
const BETWEEN = /^\/(?:oauth|login|signin|signup|forgot|consent|logout|account\/security\/app)(?:\/|$)/;

/** Sets the headers of every page. A page with additional scripts may pass a wider policy. */
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

const EXPOSED = "WWW-Authenticate, Retry-After, DPoP-Nonce";

/** Lets scripts of any origin read the response, without credentials. Always set, so that a shared cache cannot confuse responses. */
export function openToScripts(ctx: HotContext): void {
  ctx.set("Access-Control-Allow-Origin", "*");
  ctx.set("Access-Control-Expose-Headers", EXPOSED);
}

/**
 * Permits every header: Swagger UI, interceptors and tracing add headers of their own, and none of them means anything here.
 * `*` does not include `Authorization` (Fetch, CORS-preflight fetch).
 */
export function answerPreflight(ctx: HotContext, methods: readonly string[]): void {
  openToScripts(ctx);
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

/**
 * Sends the document, or 304 where the client already has it (RFC 9110 §13.1.2).
 * @param maxAge seconds for which caches may keep it; without it they revalidate at each use
 */
export function sendDocument(ctx: HotContext, { body, contentType, etag }: PreparedDocument, maxAge?: number): void {
  ctx.set("Cache-Control", maxAge === undefined ? "no-cache" : `public, max-age=${maxAge}`);
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
