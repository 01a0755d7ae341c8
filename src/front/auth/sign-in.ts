import { z } from "zod";
import { signOutCommandLine, signOutEverywhere, signOutHere } from "../../accounts/account.ts";
import type { Caller } from "../../accounts/caller.ts";
import { completeSignIn, forOneCall, forProgram, isHalf, type NewSession, signIn } from "../../accounts/sign-in.ts";
import { COMMAND_LINE_CLIENT_ID } from "../../clients/client.ts";
import { isRefusal, Refusal } from "../../errors.ts";
import { AccessTokenUse } from "../../gen/countersign/token/v1/token_pb.ts";
import { parseForm } from "../../protocol/form.ts";
import { connectionUnknown } from "../../upstream/connection.ts";
import { apiErrorPrinter, boundToken, giveNonce, oauthErrorPrinter, sendJson, sendNothing } from "../http/answers.ts";
import { formBody } from "../http/body.ts";
import { callerOf } from "../http/caller.ts";
import { type Cookies, readSession } from "../http/cookies.ts";
import { apiError, form, json, OauthError, oauthBodyErrors } from "../http/describe.ts";
import { type FrontContext, queryText, type Route } from "../http/routes.ts";
import type { UserPorts } from "../user-ports.ts";
import { accountRoute, LoginBody, unavailable } from "./shapes.ts";

/** POST /auth/login: returns a token set and sets the session cookie, for clients without a form. @see docs/protocol.md#sign-in */
export const loginRoute = (ports: UserPorts, cookies: Cookies): Route =>
  accountRoute(
    apiErrorPrinter(ports.issuer, "Password"),
    "/auth/login",
    LoginBody,
    () => ({
      summary: "Signs in with a password",
      description: "With `session=false`, only an access token for one call of a program: no cookie, no refresh token, one audit record.",
      requestParams: { query: z.object({ session: z.enum(["true", "false"]).optional() }) },
      responses: {
        "200": json("The tokens; the session cookie is set too.", tokenSet()),
        "400": apiError("Not valid."),
        "401": apiError(
          "Address, password or `code` is wrong, `code` is missing, or the user signed out everywhere at the same time. The challenge `Password` says that both belong in the body.",
        ),
        "403": apiError("SIGN_UP is `domains`, and the address is not confirmed yet; or the realm requires a stronger sign-in."),
        "429": apiError("Too many failures; see Retry-After."),
      },
    }),
    async (ctx, credentials) => {
      const { requestId, signal, address } = ctx.state;
      const isOneCall = isFalse("session", ctx);
      const caller = { ...callerOf(ctx), ...(!isOneCall && { device: cookies.device(ctx), session: cookies.session(ctx) }) };
      const signInPorts = forProgram(isOneCall ? forOneCall(ports) : ports);
      const { user, session, secret } = await signInWhole(credentials, signInPorts, caller);
      const asked = { userId: user.id, sessionId: session.id, authTime: session.authTime, requestId };
      const tokens = await ports.core.loginTokens({ ...asked, ...(isOneCall && { oneCall: true, address }) }, { signal });
      if (!isOneCall) cookies.startSession(ctx, secret, ports.sessionTtl);
      sendJson(ctx, {
        access_token: tokens.accessToken,
        refresh_token: isOneCall ? undefined : tokens.refreshToken,
        expires_in: tokens.expiresIn,
        token_type: tokens.tokenType,
      });
    },
  );

/** @throws {Refusal} as signIn; unauthenticated without the code of a second factor; forbidden below the class that the realm requires */
async function signInWhole({ code, ...credentials }: z.output<typeof LoginBody>, ports: UserPorts, caller: Caller): Promise<NewSession> {
  const outcome = await signIn(credentials, ports, caller);
  if (!isHalf(outcome)) return outcome;
  if (code !== undefined) return completeSignIn(outcome, code, ports, caller);
  const description = "Send the code of your authenticator app, or a recovery code, as `code`.";
  throw new Refusal("unauthenticated", "second_factor_missing", { description });
}

const tokenSet = () =>
  z.object({
    access_token: z.string(),
    refresh_token: z.string().optional().meta({ description: "Absent with `session=false`." }),
    expires_in: z.number().meta({ description: "Seconds." }),
    token_type: z.literal("Bearer"),
  });

/**
 * POST /auth/logout: ends the user's sessions and refresh families. With `everywhere=false` only the session of the cookie and its tokens
 * end, for a program that signed in by itself. @see docs/protocol.md#sessions
 */
export const logoutRoute = (ports: UserPorts, cookies: Cookies): Route => ({
  method: "POST",
  path: "/auth/logout",
  print: apiErrorPrinter(ports.issuer),
  openapi: () => ({
    tags: ["Accounts"],
    summary: "Ends all sessions and refresh tokens of the user",
    description:
      "Accepts any access token of a user that is bound to no resource, including one issued to an application; the audit record names its client. Refuses a token that is bound to a resource, delegated, or issued to the client itself. Accepts an expired access token. With `everywhere=false`, only the session of the cookie and its tokens end.",
    security: [{ bearer: [] }],
    requestParams: { query: z.object({ everywhere: z.enum(["true", "false"]).optional() }) },
    responses: {
      "200": json("Done.", z.object({ success: z.literal(true), message: z.literal("Successfully logged out") })),
      "400": apiError("`everywhere=false` without a session cookie, or another value than true and false."),
      "401": apiError("No token of this service."),
      ...unavailable(),
    },
  }),
  async answer(ctx) {
    const bound = boundToken(ctx, ports.issuer);
    const accessToken = bound?.accessToken ?? bearerToken(ctx);
    const { sub, clientId, grantId, dpopNonce } = await ports.core
      .verifyAccessToken({ accessToken, use: AccessTokenUse.LOGOUT, dpop: bound?.dpop }, { signal: ctx.state.signal })
      .catch(describeInvalidToken);
    giveNonce(ctx, dpopNonce);
    if (!isFalse("everywhere", ctx)) {
      await signOutEverywhere(sub, ports.sessions, callerOf(ctx), clientId);
      await endCookieSession(ctx, ports, cookies); // also where another user was signed in there
    } else if (clientId === COMMAND_LINE_CLIENT_ID && grantId !== undefined) {
      await signOutCommandLine(grantId, sub, ports.delegations, callerOf(ctx)); // it has no cookie: its grant ends
    } else await endCookieSession(ctx, ports, cookies, { userId: sub, clientId });
    sendJson(ctx, { success: true, message: "Successfully logged out" });
  },
});

/**
 * Whether a parameter of the query is `false`; without a value it is `true`.
 * @throws {Refusal} invalid_request for any other value, because `False` meant as `false` would do more than was asked for
 */
function isFalse(name: string, ctx: FrontContext): boolean {
  const value = parseForm(queryText(ctx)).get(name) ?? "true";
  if (value !== "true" && value !== "false")
    throw new Refusal("invalid_request", "query_malformed", { description: `${name} must be true or false.` });
  return value === "false";
}

/** Describes every invalid token in the same words. @throws the error, always */
function describeInvalidToken(error: unknown): never {
  if (!isRefusal(error) || error.code !== "invalid_token") throw error;
  const description = "The access token is not valid here: send one that this server issued to a user and that is bound to no resource.";
  throw new Refusal(error.code, error.reason, { ...error.detail, description });
}

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** The token of `Authorization: Bearer …` (RFC 6750 §2.1). @throws {Refusal} unauthenticated */
function bearerToken(ctx: FrontContext): string {
  const token = BEARER.exec(ctx.req.headers.authorization ?? "")?.[1];
  if (token === undefined) throw new Refusal("unauthenticated", "bearer_missing", { description: "An access token is required." });
  return token;
}

/**
 * Ends the session of the cookie; an ended session is accepted.
 * @param by the user of the token and its client: a session of another user goes on, and a cookie is required
 * @throws {Refusal} invalid_request without it
 */
async function endCookieSession(
  ctx: FrontContext,
  { sessions }: UserPorts,
  cookies: Cookies,
  by?: { readonly userId: string; readonly clientId: string },
): Promise<void> {
  const secret = cookies.session(ctx);
  if (secret === undefined) {
    if (by === undefined) return;
    throw new Refusal("invalid_request", "session_missing", { description: "The session cookie is required." });
  }
  const signedIn = await readSession(secret, sessions);
  if (signedIn && (by === undefined || signedIn.user.id === by.userId))
    await signOutHere(signedIn.session.id, signedIn.user.id, sessions, callerOf(ctx), by?.clientId);
  cookies.endSession(ctx);
}

/** `POST /signin/{name}/logout`: a provider reports a logout, which ends the sessions that its sign-in started. @see OpenID Connect Back-Channel Logout 1.0 §2.5 */
export const upstreamLogoutRoute = ({ issuer, connections, identityLinks, providers }: UserPorts): Route => ({
  method: "POST",
  path: "/signin/:name/logout",
  print: oauthErrorPrinter(issuer),
  openapi: () => ({
    tags: ["Accounts"],
    summary: "Ends the sessions of a user who has signed out at an identity provider",
    description: "For identity providers that users sign in by. The logout token names the session or the user, and works once.",
    security: [],
    requestParams: { path: z.object({ name: z.string() }) },
    requestBody: form(z.object({ logout_token: z.string() }).meta({ id: "UpstreamLogoutRequest" })),
    responses: {
      "200": { description: "Done, or there was no such session. The body is empty." },
      "400": json("The logout token is missing, not valid, or has been used.", OauthError()),
      "404": json("There is no such identity provider.", OauthError()),
      "503": json("Not able to answer now; see Retry-After.", OauthError()),
      ...oauthBodyErrors(),
    },
  }),
  async answer(ctx) {
    const token = (await formBody(ctx)).get("logout_token");
    const connection = await connections.byName(String(ctx.params.name));
    if (!connection) throw connectionUnknown();
    if (connection.protocol !== "oidc" || token === undefined)
      throw new Refusal("invalid_request", "logout_token_missing", { description: "logout_token is missing." });
    const logout = await (await providers()).logoutOf(connection, token);
    const { issuer: from } = connection;
    const actor = { type: "service", id: "upstream" } as const;
    const origin = { address: ctx.state.address, requestId: ctx.state.requestId };
    const audit = { event: "session.ended", outcome: "success", reason: "upstream_logout", resources: [from], actor, ...origin } as const;
    if (!(await identityLinks.endSessions(from, logout, audit)))
      throw new Refusal("invalid_request", "logout_token_used", { description: "This logout token has been used." });
    sendNothing(ctx);
  },
});
