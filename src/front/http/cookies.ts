import { createHmac, timingSafeEqual } from "node:crypto";
import type { Sessions, SignedIn } from "../../accounts/ports.ts";
import { isRefusal, Refusal } from "../../errors.ts";
import { type Form, parseForm } from "../../protocol/form.ts";
import { hashSecret, newSecret, type RandomBytes } from "../../random.ts";
import type { FrontContext } from "./routes.ts";

/**
 * The cookies of the service, and what is derived from them. The prefix `__Host-` keeps other hosts of the same domain from setting one
 * (RFC 6265bis §4.1.3.2).
 */
export type Cookies = ReturnType<typeof cookiesOf>;

/** Seconds; longer than a request waits for a user who has to read a mail. */
const VISITOR_TTL = 86_400;
/** Seconds for which a secret is kept that the answer to another request of a new browser has replaced: as long as a request waits. */
const REPLACED_TTL = 3600;

const isSecure = (issuer: string): boolean => issuer.startsWith("https://");

/** The name of the session cookie. Browsers refuse the prefix over plain http, which only loopback hosts may use. */
export const sessionCookie = (issuer: string): string => (isSecure(issuer) ? "__Host-countersign" : "countersign");

/** @param issuer base URL; over https the cookies are `Secure` and have the prefix */
export function cookiesOf(issuer: string, randomBytes: RandomBytes) {
  const { origin } = new URL(issuer);
  const secure = isSecure(issuer);
  const session = sessionCookie(issuer);
  const [visitor, pendingAction, device] = [`${session}-visitor`, `${session}-pending`, `${session}-device`];
  const cookies = {
    /** @param ttl seconds */
    write: (ctx: FrontContext, name: string, value: string, ttl: number): void =>
      ctx.append("Set-Cookie", `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${ttl}${secure ? "; Secure" : ""}`),
    /** The session's secret; undefined when two cookies have the name. */
    session: (ctx: FrontContext): string | undefined => cookieSecret(ctx.req.headers.cookie, session),
    /** @param ttl seconds */
    startSession: (ctx: FrontContext, secret: string, ttl: number): void => cookies.write(ctx, session, secret, ttl),
    endSession: (ctx: FrontContext): void => cookies.write(ctx, session, "", 0),
    /** The secret that forms of this browser are bound to before a user signs in. @param mark of the one that was the visitor's at that time */
    visitor: (ctx: FrontContext, mark?: string): string | undefined =>
      (mark === undefined ? undefined : cookieSecret(ctx.req.headers.cookie, `${visitor}-${mark}`)) ??
      cookieSecret(ctx.req.headers.cookie, visitor),
    /** Sets the visitor's secret, or extends it by a day. */
    startVisitor: (ctx: FrontContext, secret: string): void => cookies.write(ctx, visitor, secret, VISITOR_TTL),
    /** The secret by which accounts know this browser after a sign-in (accounts/caller.ts). It signs no one in. */
    device: (ctx: FrontContext): string | undefined => cookieSecret(ctx.req.headers.cookie, device),
    /** @param ttl seconds */
    startDevice: (ctx: FrontContext, secret: string, ttl: number): void => cookies.write(ctx, device, secret, ttl),
    /** What this browser started before it waited for a mail. The browser can write it, so it proves nothing. */
    pendingAction: (ctx: FrontContext): Form | undefined => formIn(cookieValues(ctx.req.headers.cookie, pendingAction)),
    /** @param members form-encoded  @param ttl seconds */
    startPendingAction: (ctx: FrontContext, members: string, ttl: number): void => cookies.write(ctx, pendingAction, members, ttl),
    endPendingAction(ctx: FrontContext): void {
      if (cookieValues(ctx.req.headers.cookie, pendingAction).length > 0) cookies.write(ctx, pendingAction, "", 0);
    },
    /**
     * The secret that requests of this browser are bound to. A browser without one gets one; that of a browser in which a user has signed in is
     * derived from a secret that it has since, so that concurrent requests get the same, as when several applications are opened at once.
     * Those of a new browser get different ones, of which it keeps the last as the visitor's; each also has a name of its own.
     */
    browser(ctx: FrontContext): string {
      const known = cookies.visitor(ctx);
      if (known !== undefined) {
        cookies.startVisitor(ctx, known);
        return known;
      }
      const since = cookies.device(ctx) ?? cookies.session(ctx);
      const secret = since === undefined ? newSecret(randomBytes) : csrfToken(since, "browser");
      cookies.startVisitor(ctx, secret);
      // Where another host has planted a second cookie of the name, each page would leave one more.
      const isNew = since === undefined && cookieValues(ctx.req.headers.cookie, visitor).length === 0;
      if (isNew) cookies.write(ctx, `${visitor}-${markOf(secret)}`, secret, REPLACED_TTL);
      return secret;
    },
    /**
     * Whether a token was made for this browser and purpose. A link that another site made has none. The visitor's cookie outlives a sign-in and
     * a sign-out in another tab, and so does the device's, to which forms of the account pages are bound. The previous release binds forms to
     * the session's.
     */
    isToken: (ctx: FrontContext, presented: string | undefined, purpose: string): boolean =>
      [cookies.visitor(ctx), cookies.device(ctx), cookies.session(ctx), ...replacedSecrets(ctx.req.headers.cookie, visitor)].some(
        (secret) => secret !== undefined && isCsrfToken(presented, secret, purpose),
      ),
    /** Refuses a form of another site, whatever token it has. @throws {Refusal} forbidden */
    assertSameSite(ctx: FrontContext): void {
      if (isCrossSite(ctx, origin)) throw new Refusal("forbidden", "cross_site_form");
    },
    /**
     * Accepts only forms of this service's pages, by a token bound to browser and purpose and by the origin that the browser states.
     * @throws {Refusal} forbidden
     */
    assertForm(ctx: FrontContext, form: Form, purpose: string): void {
      cookies.assertSameSite(ctx);
      if (!cookies.isToken(ctx, form.get(FORM_TOKEN), purpose)) throw new Refusal("forbidden", "form_token");
    },
  };
  return cookies;
}

/** The members in the only cookie of its name; undefined for a malformed one. */
function formIn([value, ...more]: readonly string[]): Form | undefined {
  if (value === undefined || value === "" || more.length > 0) return undefined;
  try {
    return parseForm(value);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return undefined;
  }
}

/** A cookie secret: 32 random bytes in base64url. */
const COOKIE_SECRET = /^[A-Za-z0-9_-]{43}$/;

/**
 * The values of all cookies with a name: several when another host of the domain has planted one. White space beyond ASCII belongs to the
 * name: browsers let other hosts set `__Host-…` after a no-break space. A cookie without a name has no `=`. @see RFC 6265 §4.2.1, §5.4
 * @param end what follows the name: a hyphen for those whose own names go on with it
 */
export function cookieValues(header: string | undefined, name: string, end: "=" | "-" = "="): readonly string[] {
  const start = name + end;
  const values: string[] = [];
  for (const text of header?.split(";") ?? []) {
    const pair = text.replace(/^[ \t]+/, "");
    const equals = pair.indexOf("=");
    if (equals !== -1 && pair.startsWith(start)) values.push(pair.slice(equals + 1));
  }
  return values;
}

/** The secret in a cookie. @returns undefined without the cookie, for several of the name, and for any other value */
export function cookieSecret(header: string | undefined, name: string): string | undefined {
  const [value, ...more] = cookieValues(header, name);
  return value !== undefined && more.length === 0 && COOKIE_SECRET.test(value) ? value : undefined;
}

/** The mark of a visitor's secret, by which it is found among several. It does not reveal the secret. */
export const markOf = (secret: string): string => csrfToken(secret, "mark").slice(0, 22);

/** The secrets that a browser keeps by their marks. @param name of the visitor's cookie */
const replacedSecrets = (header: string | undefined, name: string): readonly string[] =>
  cookieValues(header, name, "-").filter((value) => COOKIE_SECRET.test(value));

/** A CSRF token, valid for one purpose. It is derived from a cookie's secret, so nothing is stored. */
export const csrfToken = (secret: string, purpose: string): string => createHmac("sha256", secret).update(purpose).digest("base64url");

/** The purpose of the token that `GET /consents/` returns (docs/protocol.md#consent). */
export const API_PURPOSE = "api";

/** Whether a request has the right CSRF token. Compares in constant time. */
export function isCsrfToken(presented: unknown, secret: string, purpose: string): boolean {
  if (typeof presented !== "string") return false;
  const [a, b] = [Buffer.from(presented), Buffer.from(csrfToken(secret, purpose))];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The session of a cookie, with its user. @param secret the cookie's value @returns undefined without a live session */
export async function readSession(secret: string | undefined, sessions: Sessions): Promise<SignedIn | undefined> {
  return secret === undefined ? undefined : sessions.byHash(hashSecret(secret));
}

/** The hidden member in which a form carries its token. */
export const FORM_TOKEN = "form_token";

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
