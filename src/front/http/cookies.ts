import { cookieSecret, cookieValues } from "../../accounts/sessions.ts";
import { isRefusal } from "../../errors.ts";
import { type Form, parseForm } from "../../protocol/form.ts";
import type { FrontContext } from "./routes.ts";

/** The cookies of the service. The prefix `__Host-` keeps neighbours on the same domain from planting one (RFC 6265bis §4.1.3.2). */
export interface Cookies {
  /** The session's secret; nothing when two cookies bear the name. */
  session(ctx: FrontContext): string | undefined;
  /** @param ttl seconds */
  startSession(ctx: FrontContext, secret: string, ttl: number): void;
  endSession(ctx: FrontContext): void;
  /** A secret of this browser before anyone has signed in, which its forms are bound to. */
  visitor(ctx: FrontContext): string | undefined;
  /** Sets it, or lets the browser keep it for another day. */
  startVisitor(ctx: FrontContext, secret: string): void;
  /**
   * What this browser has begun and waits for a mail to go on with. It is of the browser's own saying: no secret, and no proof of anything.
   */
  pendingAction(ctx: FrontContext): Form | undefined;
  /** @param members form-encoded  @param ttl seconds */
  startPendingAction(ctx: FrontContext, members: string, ttl: number): void;
  endPendingAction(ctx: FrontContext): void;
}

/** Seconds: longer than a request waits for somebody who has to read a mail, also where the browser is closed in the meantime. */
const VISITOR_TTL = 86_400;

/** @param issuer base URL; over https the cookies are `Secure` and bear the prefix, on a plain-http loopback host neither is possible */
export function cookiesOf(issuer: string): Cookies {
  const secure = issuer.startsWith("https://");
  const prefix = secure ? "__Host-" : "";
  const [session, visitor, pendingAction] = [`${prefix}countersign`, `${prefix}countersign-visitor`, `${prefix}countersign-errand`];
  const write = (ctx: FrontContext, name: string, value: string, age: string) =>
    ctx.append("Set-Cookie", `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${age}${secure ? "; Secure" : ""}`);
  return {
    session: (ctx) => cookieSecret(ctx.req.headers.cookie, session),
    startSession: (ctx, secret, ttl) => write(ctx, session, secret, `; Max-Age=${ttl}`),
    endSession: (ctx) => write(ctx, session, "", "; Max-Age=0"),
    visitor: (ctx) => cookieSecret(ctx.req.headers.cookie, visitor),
    startVisitor: (ctx, secret) => write(ctx, visitor, secret, `; Max-Age=${VISITOR_TTL}`),
    pendingAction: (ctx) => formIn(cookieValues(ctx.req.headers.cookie, pendingAction)),
    startPendingAction: (ctx, members, ttl) => write(ctx, pendingAction, members, `; Max-Age=${ttl}`),
    endPendingAction(ctx) {
      if (cookieValues(ctx.req.headers.cookie, pendingAction).length > 0) write(ctx, pendingAction, "", "; Max-Age=0");
    },
  };
}

/** The members in the one cookie of its name; nothing for one that is not as we write it. */
function formIn([value, ...more]: readonly string[]): Form | undefined {
  if (value === undefined || value === "" || more.length > 0) return undefined;
  try {
    return parseForm(value);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return undefined;
  }
}
