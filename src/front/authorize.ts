import type { SignedIn } from "../accounts/ports.ts";
import { readSession } from "../accounts/sessions.ts";
import { isRefusal, type Refusal, type RefusalCode } from "../errors.ts";
import type { Authorization } from "../gen/countersign/token/v1/token_pb.ts";
import { parseAuthorizationRequest, redirectWith } from "../protocol/authorization-request.ts";
import { hashSecret } from "../secret.ts";
import { nextStep } from "./authorization-step.ts";
import type { Cookies } from "./cookies.ts";
import { limitKey } from "./middleware/address.ts";
import { formText } from "./middleware/body.ts";
import { oauthErrorPrinter } from "./middleware/errors.ts";
import { pageErrorPrinter } from "./pages/errors.ts";
import { sendRedirect } from "./pages/send.ts";
import type { Site } from "./pages/site.ts";
import type { PeoplePorts } from "./people-ports.ts";
import { newRequestId } from "./request-id.ts";
import type { ErrorPrinter, FrontContext, Handler, RouteGroup } from "./routes.ts";
import { queryText } from "./routes.ts";

/** Seconds that a request waits for sign-in and consent. */
const PENDING_TTL = 600;

type Request = ReturnType<typeof parseAuthorizationRequest>;

/** An authorization request that the core found good, for the person who is signed in, if anyone is. */
export interface GoodRequest {
  readonly request: Request;
  readonly authorization: Authorization;
  readonly signedIn: SignedIn | undefined;
}

/** The ways of an authorization request through the front; `status` is that of the redirect: 302 after a GET, 303 after a form. */
export interface AuthorizationFlow {
  /**
   * Asks the core about a request.
   * @param ready whether a code may be issued in the same call, where nothing is left to ask
   * @returns undefined when the client has been told by redirect: that the request is not good, or the code
   * @throws {Refusal} when client or redirect URI are not good: nothing may be redirected then
   */
  judge(
    ctx: FrontContext,
    query: string,
    signedIn: SignedIn | undefined,
    status: 302 | 303,
    ready?: "ready",
  ): Promise<GoodRequest | undefined>;
  /** Issues a code and redirects to the client with it, or with the reason why there is none. */
  issue(ctx: FrontContext, good: GoodRequest & { readonly signedIn: SignedIn }, status: 302 | 303): Promise<void>;
  /** Tells the client an error by redirect. Only for a request that was judged good in this very exchange. */
  refuse(ctx: FrontContext, request: Request, error: string, description: string, status: 302 | 303): void;
  /**
   * Keeps the request until the person has signed in and consented.
   * @param session the secret of the session that came along  @returns the id by which pages know it
   */
  keep(query: string, session: string | undefined): Promise<string>;
}

/** Errors that an authorization response may carry (RFC 6749 §4.1.2.1, RFC 8707 §2, OIDC Core §3.1.2.6). */
const BY_REDIRECT: ReadonlySet<RefusalCode> = new Set([
  "invalid_request",
  "unauthorized_client",
  "access_denied",
  "unsupported_response_type",
  "invalid_scope",
  "invalid_target",
  "temporarily_unavailable",
  "login_required",
  "consent_required",
  "interaction_required",
]);

export function authorizationFlow({ core, pendingRequests, randomBytes, issuer, fault }: PeoplePorts): AuthorizationFlow {
  const redirect = (ctx: FrontContext, request: Request, parameters: Readonly<Record<string, string | undefined>>, status: 302 | 303) => {
    sendRedirect(ctx, redirectWith(request.redirectUri ?? "", { ...parameters, state: request.state, iss: issuer }), status);
  };
  const refuse: AuthorizationFlow["refuse"] = (ctx, request, error, description, status) =>
    redirect(ctx, request, { error, error_description: description || undefined }, status);
  /** The client is good, so it is told of a failure as well as it can be. */
  const refuseFor = (ctx: FrontContext, request: Request, error: unknown, status: 302 | 303) => {
    const refusal = isRefusal(error) ? error : undefined;
    if (!refusal) fault({ requestId: ctx.state.requestId, route: "/oauth/authorize", error });
    const code = refusal && BY_REDIRECT.has(refusal.code) ? refusal.code : "server_error";
    redirect(ctx, request, { error: code, error_description: refusal?.detail.description }, status);
  };
  return {
    refuse,
    async judge(ctx, query, signedIn, status, ready) {
      const request = parseAuthorizationRequest(query);
      const session = ready && signedIn && { id: signedIn.session.id, authTime: signedIn.session.authTime };
      const question = {
        request,
        userId: signedIn?.user.id,
        address: limitKey(ctx.state.address),
        requestId: ctx.state.requestId,
        ...(session && { session }),
      };
      const { outcome } = await core.validateAuthorization(question, { signal: ctx.state.signal });
      switch (outcome.case) {
        case "authorization":
          return { request, authorization: outcome.value, signedIn };
        case "code":
          redirect(ctx, request, { code: outcome.value }, status);
          return undefined;
        case "error":
          refuse(ctx, request, outcome.value.error, outcome.value.errorDescription, status);
          return undefined;
        case undefined:
          throw new Error("the core gave no outcome");
      }
    },
    async issue(ctx, { request, signedIn: { user, session } }, status) {
      try {
        const { code } = await core.issueCode(
          {
            request,
            userId: user.id,
            sessionId: session.id,
            authTime: session.authTime,
            requestId: ctx.state.requestId,
            address: limitKey(ctx.state.address),
          },
          { signal: ctx.state.signal },
        );
        redirect(ctx, request, { code }, status);
      } catch (error) {
        refuseFor(ctx, request, error, status);
      }
    },
    async keep(query, session) {
      const id = newRequestId(session, randomBytes);
      await pendingRequests.put(hashSecret(id), query, PENDING_TTL);
      return id;
    },
  };
}

/** GET and POST /oauth/authorize (specification §4.6). A person who is signed in and has consented is sent back at once. */
export function authorizeRoutes(ports: PeoplePorts, cookies: Cookies, flow: AuthorizationFlow, site: Site): RouteGroup {
  const get: Handler = async (ctx) => {
    const query = queryText(ctx);
    const session = cookies.session(ctx);
    const signedIn = await readSession(session, ports.sessions);
    const good = await flow.judge(ctx, query, signedIn, 302, "ready");
    if (!good) return;
    const step = nextStep(good.authorization, signedIn, false, ports.clock());
    if (step.kind === "issue" && signedIn) return flow.issue(ctx, { ...good, signedIn }, 302);
    if (step.kind === "refuse") return flow.refuse(ctx, good.request, step.error, step.description, 302);
    sendRedirect(ctx, site.path(step.kind === "consent" ? "/consent" : "/login", { requestId: await flow.keep(query, session) }), 302);
  };
  // The session cookie does not come along with a form that another site sent, so the request waits for a GET of our own (SameSite=Lax).
  const post: Handler = async (ctx) => {
    const query = await formText(ctx);
    if (await flow.judge(ctx, query, undefined, 303))
      sendRedirect(ctx, site.path("/consent", { requestId: await flow.keep(query, undefined) }), 303);
  };
  return { fixed: { "/oauth/authorize": { methods: { GET: get, POST: post }, print: authorizeErrorPrinter(ports.issuer, site) } } };
}

/** JSON with 400 for whatever is wrong with the request, and never a redirect; a page for a person who only has to wait. */
export function authorizeErrorPrinter(issuer: string, site: Site): ErrorPrinter {
  const json = oauthErrorPrinter(issuer);
  const page = pageErrorPrinter(site);
  const isOutage = (refusal: Refusal | undefined) => refusal === undefined || refusal.code === "temporarily_unavailable";
  return (ctx, refusal) => {
    if (isOutage(refusal) && ctx.accepts("json", "html") === "html") return page(ctx, refusal);
    json(ctx, refusal);
    if (refusal?.code === "invalid_client") {
      ctx.remove("WWW-Authenticate");
      ctx.status = 400;
    }
  };
}
