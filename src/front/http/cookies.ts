import { cookieSecret, cookieValues } from "../../accounts/sessions.ts";
import { isRefusal } from "../../errors.ts";
import { type Form, parseForm } from "../../protocol/form.ts";
import type { FrontContext } from "./routes.ts";

/** The cookies of the service. The prefix `__Host-` keeps other hosts of the same domain from setting one (RFC 6265bis §4.1.3.2). */
export type Cookies = ReturnType<typeof cookiesOf>;

/** Seconds; longer than a request waits for a user who has to read a mail. */
const VISITOR_TTL = 86_400;

/** @param issuer base URL; over https the cookies are `Secure` and have the prefix, which plain http on a loopback host does not allow */
export function cookiesOf(issuer: string) {
  const secure = issuer.startsWith("https://");
  const prefix = secure ? "__Host-" : "";
  const [session, visitor, pendingAction] = [`${prefix}countersign`, `${prefix}countersign-visitor`, `${prefix}countersign-pending`];
  const write = (ctx: FrontContext, name: string, value: string, age: string) =>
    ctx.append("Set-Cookie", `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${age}${secure ? "; Secure" : ""}`);
  return {
    /** The session's secret; undefined when two cookies have the name. */
    session: (ctx: FrontContext): string | undefined => cookieSecret(ctx.req.headers.cookie, session),
    /** @param ttl seconds */
    startSession: (ctx: FrontContext, secret: string, ttl: number): void => write(ctx, session, secret, `; Max-Age=${ttl}`),
    endSession: (ctx: FrontContext): void => write(ctx, session, "", "; Max-Age=0"),
    /** The secret that forms of this browser are bound to before a user signs in. */
    visitor: (ctx: FrontContext): string | undefined => cookieSecret(ctx.req.headers.cookie, visitor),
    /** Sets the visitor's secret, or extends it by a day. */
    startVisitor: (ctx: FrontContext, secret: string): void => write(ctx, visitor, secret, `; Max-Age=${VISITOR_TTL}`),
    /** What this browser started before it waited for a mail. The browser can write it, so it proves nothing. */
    pendingAction: (ctx: FrontContext): Form | undefined => formIn(cookieValues(ctx.req.headers.cookie, pendingAction)),
    /** @param members form-encoded  @param ttl seconds */
    startPendingAction: (ctx: FrontContext, members: string, ttl: number): void => write(ctx, pendingAction, members, `; Max-Age=${ttl}`),
    endPendingAction(ctx: FrontContext): void {
      if (cookieValues(ctx.req.headers.cookie, pendingAction).length > 0) write(ctx, pendingAction, "", "; Max-Age=0");
    },
  };
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
