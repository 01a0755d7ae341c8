import { csrfToken, isCsrfToken } from "../../accounts/sessions.ts";
import { Refusal } from "../../errors.ts";
import type { Form } from "../../protocol/form.ts";
import { newSecret, type RandomBytes } from "../../random.ts";
import type { Cookies } from "./cookies.ts";
import type { FrontContext } from "./routes.ts";

/** Accepts only forms of this service's pages, by a token bound to browser and purpose and by the origin that the browser states. */
export type FormGuard = ReturnType<typeof formGuard>;

/** The hidden member in which a form carries its token. */
export const FORM_TOKEN = "form_token";

export function formGuard({ issuer, cookies, randomBytes }: { issuer: string; cookies: Cookies; randomBytes: RandomBytes }) {
  const origin = new URL(issuer).origin;
  return {
    /** The token for a form. A browser without a cookie to bind it to gets one. */
    token(ctx: FrontContext, purpose: string): string {
      const known = cookies.session(ctx) ?? cookies.visitor(ctx);
      if (known !== undefined) return csrfToken(known, purpose);
      const secret = newSecret(randomBytes);
      cookies.startVisitor(ctx, secret);
      return csrfToken(secret, purpose);
    },
    /** @throws {Refusal} forbidden */
    assert(ctx: FrontContext, form: Form, purpose: string): void {
      if (isCrossSite(ctx, origin)) throw new Refusal("forbidden", "cross_site_form");
      // A form that was opened before the user signed in elsewhere is bound to the visitor's cookie. Both cookies identify this browser.
      const secrets = [cookies.session(ctx), cookies.visitor(ctx)];
      const presented = form.get(FORM_TOKEN);
      const matches = secrets.some((secret) => secret !== undefined && isCsrfToken(presented, secret, purpose));
      if (!matches) throw new Refusal("forbidden", "form_token");
    },
  };
}

/**
 * Whether the browser states that the form came from another site. Under `Referrer-Policy: no-referrer` a browser sends `Origin: null` with
 * forms of the same site too; then `Sec-Fetch-Site` decides. A client that sends neither is not a browser, and still needs the token.
 * @see Fetch standard §3.2 (Origin), Fetch Metadata §2.2
 */
export function isCrossSite(ctx: FrontContext, origin: string): boolean {
  const sent = ctx.req.headers.origin;
  const site = ctx.req.headers["sec-fetch-site"];
  if (sent !== undefined && sent !== "null") return sent !== origin;
  if (site !== undefined) return site !== "same-origin";
  return sent === "null";
}
