import { z } from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from "zod-openapi";
import { assertWithin } from "../../accounts/caller.ts";
import type { SignedIn } from "../../accounts/ports.ts";
import { isRefusal, type RefusalCode } from "../../errors.ts";
import type { Authorization } from "../../gen/countersign/token/v1/token_pb.ts";
import {
  authorizationQuery,
  parseAuthorizationRequest,
  pushedReference,
  redirectWith,
  uiLocalesIn,
} from "../../protocol/authorization-request.ts";
import { limitKey } from "../../protocol/limit-key.ts";
import { donePath } from "../done.ts";
import { oauthErrorPrinter, sendRedirect } from "../http/answers.ts";
import { formText } from "../http/body.ts";
import { rememberRequested } from "../http/caller.ts";
import { type Cookies, readSession } from "../http/cookies.ts";
import { authorizeParameters, form, json, OauthError, oauthBodyErrors, orPage } from "../http/describe.ts";
import { type ErrorPrinter, exceptHead, type FrontContext, type Handler, queryText, type Route } from "../http/routes.ts";
import { pageErrorPrinter } from "../pages/errors.ts";
import type { Site } from "../pages/views/layout.ts";
import type { UserPorts } from "../user-ports.ts";
import { openPushed, pushedOver } from "./client-requests.ts";
import { newRequestId, nextStep, pendingQuery, REQUEST_OVER, settableAcr, type storedRequest, waitingHash } from "./pending-request.ts";

/** Seconds that a request waits for sign-in and consent. */
export const PENDING_TTL = 600;
/** Requests that one user or address may begin: 20 a second, enough for a large company behind one address in the morning. */
export const PENDING_RATE = { points: 1200, seconds: 60 } as const;

type Request = ReturnType<typeof storedRequest>;

/** An authorization request that the core found valid, with the signed-in user, if there is one. */
export interface ValidRequest {
  readonly request: Request;
  readonly authorization: Authorization;
  readonly signedIn: SignedIn | undefined;
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
  "unmet_authentication_requirements",
  "consent_required",
  "interaction_required",
]);

type Asking = { readonly ports: UserPorts; readonly cookies: Cookies; readonly ctx: FrontContext };

/** Sends the browser on with the answer to a request. A device has no redirect URI: it gets its answer at the token endpoint. */
function redirect({ ports: { issuer }, cookies, ctx }: Asking, request: Request, parameters: Readonly<Record<string, string | undefined>>) {
  const { deviceRequest, redirectUri = "", state } = request;
  if (deviceRequest === undefined) return sendRedirect(ctx, redirectWith(redirectUri, { ...parameters, state, iss: issuer }));
  const { error } = parameters;
  const outcome = error === undefined ? "approved" : error === "access_denied" ? "denied" : "failed";
  sendRedirect(ctx, donePath({ cookies, ctx }, `${issuer}/device/done`, outcome));
}

/** Redirects to the client with an error. Only for a request that was validated while answering the same HTTP request. */
export const refuseRequest = (asking: Asking, request: Request, error: string, description: string): void =>
  redirect(asking, request, { error, error_description: description || undefined });

/**
 * Lets the core validate a request.
 * @param ready whether the core may issue the code in the same call where no interaction is needed
 * @returns undefined when the response is written: a redirect to the client with an error or the code
 * @throws {Refusal} when client or redirect URI are not valid, so that a redirect is forbidden, and for a pushed request that is over
 */
export async function validateRequest(
  asking: Asking,
  request: Request,
  signedIn: SignedIn | undefined,
  ready?: "ready",
): Promise<ValidRequest | undefined> {
  const { ports, ctx } = asking;
  ctx.state.requested = request;
  const question = {
    request,
    userId: signedIn?.user.id,
    address: limitKey(ctx.state.address),
    requestId: ctx.state.requestId,
    session: ready && signedIn && { id: signedIn.session.id, authTime: signedIn.session.authTime },
  };
  const { outcome } = await ports.core.validateAuthorization(question, { signal: ctx.state.signal }).catch(pushedOver);
  if (outcome.case === "authorization") return { request, authorization: outcome.value, signedIn };
  if (outcome.case === "code") redirect(asking, request, { code: outcome.value });
  else if (outcome.case === "error") refuseRequest(asking, request, outcome.value.error, outcome.value.errorDescription);
  else throw new Error("the core gave no outcome");
  return undefined;
}

/**
 * Redirects to the client with a code or an error.
 * @param decision a secret that stands for one code, however often this is called
 * @throws {Refusal} invalid_request where a pushed request has led to another code, as in another tab
 */
export async function issueCode(
  asking: Asking,
  { request, signedIn: { user, session } }: ValidRequest & { readonly signedIn: SignedIn },
  decision?: string,
): Promise<void> {
  const { ports, ctx } = asking;
  const { requestId, address, signal } = ctx.state;
  const by = { userId: user.id, sessionId: session.id, authTime: session.authTime, requestId, address: limitKey(address) };
  try {
    const { code } = await ports.core
      .issueCode({ request, ...by, ...(decision !== undefined && { decision }) }, { signal })
      .catch(pushedOver);
    redirect(asking, request, { code });
  } catch (error) {
    // The client was valid, so the error may be sent to it.
    const refusal = isRefusal(error) ? error : undefined;
    if (refusal?.reason === REQUEST_OVER) throw refusal;
    if (!refusal) ports.fault({ requestId, route: "/oauth/authorize", error });
    const code = refusal && BY_REDIRECT.has(refusal.code) ? refusal.code : "server_error";
    redirect(asking, request, { error: code, error_description: refusal?.detail.description });
  }
}

/**
 * Stores the request for this browser until sign-in and consent are done.
 * @param browser its secret, where it is known  @returns the request's id  @throws {Refusal} too_many_requests
 */
export async function keepRequest(
  { ports: { pendingRequests, pendingRate, randomBytes }, cookies, ctx }: Asking,
  { request, signedIn }: Pick<ValidRequest, "request" | "signedIn">,
  browser = cookies.browser(ctx),
): Promise<string> {
  const bound = boundOf(signedIn, ctx.state.address);
  await assertWithin(pendingRate, bound.holder);
  const id = newRequestId(cookies.session(ctx), browser, randomBytes);
  await pendingRequests.put(waitingHash(id, browser), pendingQuery(request), PENDING_TTL, bound);
  return id;
}

/**
 * Whose requests are counted together, and how many may wait at a time. A signed-in user has a separate count, so that others at the same
 * address, which thousands may share, cannot use it up. Above the limit the oldest request is dropped: at PENDING_RATE a flood leaves all
 * users at its address most of a minute to sign in, while a refusal would lock them out for as long as the flood lasts.
 */
export const boundOf = (signedIn: SignedIn | undefined, address: string): { readonly holder: string; readonly limit: number } =>
  signedIn ? { holder: `user ${signedIn.user.id}`, limit: 100 } : { holder: `address ${limitKey(address)}`, limit: 1000 };

/** GET and POST /oauth/authorize: redirects at once if the user is signed in and has consented. @see docs/protocol.md#authorization-request */
export function authorizeRoutes(ports: UserPorts, cookies: Cookies, site: Site): readonly Route[] {
  const get = exceptHead(async (ctx) => {
    const asking = { ports, cookies, ctx };
    const signedIn = await readSession(cookies.session(ctx), ports.sessions);
    const query = queryText(ctx);
    const pushed = pushedReference(query);
    const opened = pushed && (await openPushed(ctx, pushed, ports.core, cookies.browser(ctx)));
    const { request, uiLocales } = opened ?? { request: parseAuthorizationRequest(query), uiLocales: uiLocalesIn(query) };
    const valid = await validateRequest(asking, request, signedIn, "ready");
    if (!valid) return;
    const step = nextStep(valid.authorization, signedIn, false, settableAcr(ports));
    if (step.kind === "issue" && signedIn) return issueCode(asking, { ...valid, signedIn });
    if (step.kind === "refuse") return refuseRequest(asking, valid.request, step.error, step.description);
    if (uiLocales !== undefined) rememberRequested(ctx, uiLocales, cookies);
    const requestId = await keepRequest(asking, valid, opened?.browser);
    sendRedirect(ctx, site.path(step.kind === "sign_in" ? "/login" : "/consent", { requestId }));
  });
  // A browser sends no cookies with a form of another site (SameSite=Lax), so the request continues as a GET of this site.
  const post: Handler = async (ctx) => {
    const text = await formText(ctx);
    const pushed = pushedReference(text);
    if (pushed) {
      const { clientId, requestUri } = pushed;
      const named = new URLSearchParams({ client_id: clientId, request_uri: requestUri });
      return sendRedirect(ctx, `${site.path("/oauth/authorize")}?${named}`);
    }
    const valid = await validateRequest({ ports, cookies, ctx }, parseAuthorizationRequest(text), undefined);
    const uiLocales = uiLocalesIn(text);
    const shown = uiLocales === undefined ? "" : `&ui_locales=${encodeURIComponent(uiLocales)}`;
    if (valid) sendRedirect(ctx, `${site.path("/oauth/authorize")}?${authorizationQuery(valid.request)}${shown}`);
  };
  const route = { path: "/oauth/authorize", print: authorizeErrorPrinter(ports.issuer, site) };
  return [
    { ...route, method: "GET", answer: get, openapi: () => describeAuthorize({ requestParams: { query: authorizeOrPushed() } }) },
    {
      ...route,
      method: "POST",
      answer: post,
      openapi: () => describeAuthorize({ requestBody: form(authorizeOrPushed()) }, "303", oauthBodyErrors()),
    },
  ];
}

/** Prints errors that must not be redirected: a page where the request prefers HTML, as a browser does, else JSON with 400. */
function authorizeErrorPrinter(issuer: string, site: Site): ErrorPrinter {
  const json = oauthErrorPrinter(issuer);
  const page = pageErrorPrinter(site, "of app");
  return (ctx, refusal) => {
    ctx.vary("Accept");
    const print = ctx.accepts("json", "html") === "html" ? page : json;
    print(ctx, refusal);
    if (refusal?.code === "invalid_client") {
      ctx.remove("WWW-Authenticate");
      ctx.status = 400;
    }
  };
}

const describeAuthorize = (
  request: Partial<ZodOpenApiOperationObject>,
  status: "302" | "303" = "302",
  more: ZodOpenApiResponsesObject = {},
): ZodOpenApiOperationObject => ({
  tags: ["OAuth"],
  summary: "Asks the user for an authorization code",
  security: [],
  ...request,
  responses: {
    [status]: { description: "Back to the client with `code` or `error`, `state` and `iss`; or on to sign-in or consent." },
    "400": withoutRedirect(
      "The client or redirect URI is not valid, so the browser is not redirected. A page where the request prefers text/html.",
    ),
    "429": withoutRedirect("Too many requests from this address or by this user; see Retry-After."),
    "503": withoutRedirect("Not able to answer now; see Retry-After."),
    ...more,
  },
});

const authorizeOrPushed = () =>
  authorizeParameters().extend({
    request_uri: z
      .string()
      .optional()
      .meta({ description: "A pushed request (RFC 9126): of the other parameters only client_id is read." }),
  });

const withoutRedirect = (description: string): ZodOpenApiResponseObject => orPage(json(description, OauthError()));
