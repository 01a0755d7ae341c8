import { cookieSecret } from "../accounts/sessions.ts";
import type { FrontContext } from "./routes.ts";

/** The two cookies of the service. The prefix `__Host-` keeps neighbours on the same domain from planting one (RFC 6265bis §4.1.3.2). */
export interface Cookies {
  /** The session's secret; nothing when two cookies bear the name. */
  session(ctx: FrontContext): string | undefined;
  /** @param ttl seconds */
  startSession(ctx: FrontContext, secret: string, ttl: number): void;
  endSession(ctx: FrontContext): void;
  /** A secret of this browser before anyone has signed in, which its forms are bound to. */
  visitor(ctx: FrontContext): string | undefined;
  startVisitor(ctx: FrontContext, secret: string): void;
}

/** @param issuer base URL; over https the cookies are `Secure` and bear the prefix, on a plain-http loopback host neither is possible */
export function cookiesOf(issuer: string): Cookies {
  const secure = issuer.startsWith("https://");
  const prefix = secure ? "__Host-" : "";
  const [session, visitor] = [`${prefix}countersign`, `${prefix}countersign-visitor`];
  const write = (ctx: FrontContext, name: string, value: string, age: string) =>
    ctx.append("Set-Cookie", `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${age}${secure ? "; Secure" : ""}`);
  return {
    session: (ctx) => cookieSecret(ctx.req.headers.cookie, session),
    startSession: (ctx, secret, ttl) => write(ctx, session, secret, `; Max-Age=${ttl}`),
    endSession: (ctx) => write(ctx, session, "", "; Max-Age=0"),
    visitor: (ctx) => cookieSecret(ctx.req.headers.cookie, visitor),
    startVisitor: (ctx, secret) => write(ctx, visitor, secret, ""),
  };
}
