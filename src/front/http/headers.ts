import type { HotContext } from "./routes.ts";

/** Answers that hold credentials or depend on them are kept by nobody (RFC 6749 §5.1). */
export function noStore(ctx: HotContext): void {
  ctx.set("Cache-Control", "no-store");
  ctx.set("Pragma", "no-cache");
}

/** A JSON answer that nobody keeps. Members that are undefined are left out, so that no `null` is ever sent. */
export function sendJson(ctx: HotContext, body: object, status = 200): void {
  noStore(ctx);
  ctx.status = status;
  ctx.set("Content-Type", "application/json");
  ctx.body = JSON.stringify(body);
}

/** No `form-action`: browsers would apply it to the redirect that follows the form, and so stop the way back to the client. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'";

/** Headers of every page that a person sees. A page with scripts of its own may pass a wider policy. */
export function pageHeaders(ctx: HotContext, policy: string = PAGE_POLICY): void {
  noStore(ctx);
  ctx.set("Content-Security-Policy", policy);
  ctx.set("X-Frame-Options", "DENY");
  ctx.set("Referrer-Policy", "no-referrer");
  ctx.set("Cross-Origin-Opener-Policy", "same-origin");
}

const EXPOSED = "WWW-Authenticate, Retry-After";

/** For scripts of any origin; credentials of the browser never come along. Set always, so that a shared cache cannot mix answers up. */
export function openToScripts(ctx: HotContext): void {
  ctx.set("Access-Control-Allow-Origin", "*");
  ctx.set("Access-Control-Expose-Headers", EXPOSED);
}

/** The answer to a preflight request. */
export function answerPreflight(ctx: HotContext, methods: readonly string[]): void {
  openToScripts(ctx);
  ctx.set("Access-Control-Allow-Methods", methods.join(", "));
  ctx.set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version");
  ctx.set("Access-Control-Max-Age", "600");
  ctx.status = 204;
}

/** Redirects the browser: 302 after a GET, 303 after a form, so that a form is never sent on (OAuth 2.1 §7.5.3). */
export function sendRedirect(ctx: HotContext, location: string, status: 302 | 303): void {
  noStore(ctx);
  ctx.set("Referrer-Policy", "no-referrer");
  ctx.set("Location", location);
  ctx.status = status;
  ctx.body = "";
}
