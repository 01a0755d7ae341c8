import { readSession, signOut, signOutEverywhere, signOutHere } from "../../accounts/sessions.ts";
import { Refusal } from "../../errors.ts";
import { AccessTokenUse } from "../../gen/countersign/token/v1/token_pb.ts";
import { hashSecret } from "../../secret.ts";
import type { Cookies } from "../http/cookies.ts";
import { sendJson } from "../http/headers.ts";
import { type FrontContext, type Handler, queryText } from "../http/routes.ts";
import type { UserPorts } from "../user-ports.ts";
import { callerOf } from "../user-ports.ts";

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** The token of `Authorization: Bearer …` (RFC 6750 §2.1). @throws {Refusal} unauthenticated */
function bearerToken(ctx: FrontContext): string {
  const token = BEARER.exec(ctx.req.headers.authorization ?? "")?.[1];
  if (token === undefined) throw new Refusal("unauthenticated", "bearer_missing", { description: "An access token is required." });
  return token;
}

/**
 * POST /auth/logout: ends the person's sessions and refresh families; an expired token is good enough (specification §4.2). Every user
 * access token that is bound to no resource is taken, an application's too, and the audit record names its client. With
 * `everywhere=false` it ends the session of the cookie alone, with the token set that it began with: for a program that signed in by
 * itself.
 */
export const logoutRoute =
  (ports: UserPorts, cookies: Cookies): Handler =>
  async (ctx) => {
    const accessToken = bearerToken(ctx);
    const { sub, clientId } = await ports.core.verifyAccessToken({ accessToken, use: AccessTokenUse.LOGOUT }, { signal: ctx.state.signal });
    if (new URLSearchParams(queryText(ctx)).get("everywhere") === "false")
      await revokeSession(ctx, { userId: sub, clientId }, ports, cookies);
    else {
      await signOutEverywhere(sub, ports.sessions, callerOf(ctx), clientId);
      await endCookieSession(ctx, ports, cookies);
    }
    sendJson(ctx, { success: true, message: "Successfully logged out" });
  };

/** @throws {Refusal} invalid_request without a session cookie; one whose session has ended is good enough, somebody else's is left alone */
async function revokeSession(
  ctx: FrontContext,
  { userId, clientId }: { readonly userId: string; readonly clientId: string },
  { sessions }: UserPorts,
  cookies: Cookies,
): Promise<void> {
  const secret = cookies.session(ctx);
  if (secret === undefined) throw new Refusal("invalid_request", "session_missing", { description: "The session cookie is required." });
  const signedIn = await readSession(secret, sessions);
  if (signedIn?.user.id === userId) await signOutHere(signedIn.session.id, userId, sessions, callerOf(ctx), clientId);
  cookies.endSession(ctx);
}

/** The browser that sent the request is signed out too, whoever was signed in there. */
async function endCookieSession(ctx: FrontContext, { sessions }: UserPorts, cookies: Cookies): Promise<void> {
  const secret = cookies.session(ctx);
  if (secret === undefined) return;
  const signedIn = await readSession(secret, sessions);
  if (signedIn) await signOut(hashSecret(secret), signedIn.user.id, sessions, callerOf(ctx));
  cookies.endSession(ctx);
}
