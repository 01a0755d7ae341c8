import { signIn } from "../../accounts/sign-in.ts";
import type { Cookies } from "../http/cookies.ts";
import { sendJson } from "../http/headers.ts";
import type { Handler } from "../http/routes.ts";
import { LoginBody } from "../schemas/accounts.ts";
import type { UserPorts } from "../user-ports.ts";
import { callerOf } from "../user-ports.ts";
import { accountBody } from "./body.ts";

/** POST /auth/login: a token set, and the session cookie with it, so that API-first clients need no form (specification §2.5, §4.2). */
export const loginRoute =
  (ports: UserPorts, cookies: Cookies): Handler =>
  async (ctx) => {
    const credentials = await accountBody(ctx, LoginBody);
    const { user, session, secret } = await signIn(credentials, ports, callerOf(ctx), cookies.session(ctx));
    const tokens = await ports.core.loginTokens(
      { userId: user.id, sessionId: session.id, authTime: session.authTime, requestId: ctx.state.requestId },
      { signal: ctx.state.signal },
    );
    cookies.startSession(ctx, secret, ports.sessionTtl);
    sendJson(ctx, {
      access_token: tokens.accessToken,
      refresh_token: tokens.refreshToken,
      expires_in: tokens.expiresIn,
      token_type: tokens.tokenType,
    });
  };
