import { noStore, pageHeaders } from "../http/headers.ts";
import type { FrontContext } from "../http/routes.ts";
import { languageOf } from "../texts/language.ts";
import type { Markup } from "./html.ts";

/** Answers with a page, written in `languageOf(ctx)`. */
export function sendPage(ctx: FrontContext, page: Markup, status = 200): void {
  pageHeaders(ctx);
  ctx.status = status;
  ctx.set("Content-Type", "text/html; charset=utf-8");
  ctx.set("Content-Language", languageOf(ctx));
  ctx.vary("Accept-Language");
  ctx.body = page.text;
}

/** Sends the browser elsewhere: 302 after a GET, 303 after a form, so that no form is ever sent on (OAuth 2.1 §7.5.3). */
export function sendRedirect(ctx: FrontContext, location: string, status: 302 | 303): void {
  noStore(ctx);
  ctx.set("Referrer-Policy", "no-referrer");
  ctx.set("Location", location);
  ctx.status = status;
  ctx.body = "";
}
