import type { PendingRequest, PendingRequests, SignedIn } from "../../accounts/ports.ts";
import { Refusal } from "../../errors.ts";
import type { Authorization } from "../../gen/countersign/token/v1/token_pb.ts";
import {
  type Acr,
  isAsStrong,
  neededAcr,
  PASSWORD_ACR,
  PHISHING_RESISTANT_ACR,
  TWO_FACTOR_ACR,
} from "../../protocol/authentication-context.ts";
import { authorizationQuery, parseAuthorizationRequest } from "../../protocol/authorization-request.ts";
import { hashSecret, newSecret, type RandomBytes, type SecretHash } from "../../random.ts";
import { type Cookies, csrfToken, markOf } from "../http/cookies.ts";
import type { FrontContext } from "../http/routes.ts";
import type { UserPorts } from "../user-ports.ts";

/** How a device request is stored while it waits. No authorization request has such a member (authorizationQuery). */
const DEVICE_MEMBER = "device_request";
/** Where a pushed request is named beside its parameters. */
const PUSHED_MEMBER = "pushed_request";

type StoredRequest = ReturnType<typeof parseAuthorizationRequest>;

/** The text in which a request waits. */
export function pendingQuery(request: StoredRequest): string {
  const { deviceRequest, pushedRequest } = request;
  if (deviceRequest !== undefined) return new URLSearchParams([[DEVICE_MEMBER, deviceRequest]]).toString();
  const query = authorizationQuery(request);
  return pushedRequest === undefined ? query : `${query}&${new URLSearchParams([[PUSHED_MEMBER, pushedRequest]])}`;
}

/** The request of such a text. Only for stored texts: another one must not name a device request or a pushed one. */
export function storedRequest(query: string): StoredRequest {
  const stored = new URLSearchParams(query);
  const [deviceRequest, pushedRequest] = [stored.get(DEVICE_MEMBER), stored.get(PUSHED_MEMBER)];
  if (deviceRequest !== null) return { deviceRequest };
  return { ...parseAuthorizationRequest(query), ...(pushedRequest !== null && { pushedRequest }) };
}

/** Identifies a session without revealing its secret. */
const fingerprintOf = (session: string): string => csrfToken(session, "asked under").slice(0, 22);

/**
 * A secret, and the fingerprint of the session that made the request, or else the mark of its browser's secret. The hash of both is stored, so
 * neither can be changed.
 */
export const newRequestId = (session: string | undefined, browser: string, randomBytes: RandomBytes): string =>
  `${newSecret(randomBytes)}.${session === undefined ? markOf(browser) : fingerprintOf(session)}`;

/**
 * The secret of the browser that began the request, by which it is stored. A new browser that opens several applications at once keeps one for
 * each (`Cookies.browser`). @returns undefined for a browser that began none
 */
const secretFor = ({ cookies, ctx }: Pick<Browser, "cookies" | "ctx">, requestId: string): string | undefined =>
  cookies.visitor(ctx, /\.([\w-]{22})$/.exec(requestId)?.[1]);

/** The key of a pending request: its id and the secret of the browser that started it. */
export const waitingHash = (requestId: string, browser: string): SecretHash => hashSecret(`${requestId} ${browser}`);

/** A request that waits in this browser. `browser` is the secret of the browser that started it. */
export type WaitingRequest = PendingRequest & { readonly requestId: string; readonly browser: string };

/** Where requests wait, and the cookies that bind them to the browser of a request. */
type Browser = {
  readonly ports: { readonly pendingRequests: PendingRequests };
  readonly cookies: Cookies;
  readonly ctx: FrontContext;
};

/** The pending authorization request of this browser with this id. @returns undefined for one that is unknown or has ended */
export async function waitingRequest(visit: Browser, requestId: string): Promise<WaitingRequest | undefined> {
  const browser = secretFor(visit, requestId);
  const pending = browser === undefined ? undefined : await visit.ports.pendingRequests.byId(waitingHash(requestId, browser));
  return browser !== undefined && pending ? { ...pending, requestId, browser } : undefined;
}

/** Seconds that a request waits for a user who has to read a mail, since it was first seen, and that a browser remembers what it had begun. */
export const PENDING_ACTION_TTL = 3600;

/** Lets the request wait longer, if there is one. */
export async function extendRequest(visit: Browser, { requestId }: { readonly requestId?: string | undefined }): Promise<void> {
  if (requestId === undefined) return;
  const browser = secretFor(visit, requestId);
  if (browser !== undefined) await visit.ports.pendingRequests.extend(waitingHash(requestId, browser), PENDING_ACTION_TTL);
}

/** The reason for a request that is unknown or has ended. Often all went well and the user navigated back. */
export const REQUEST_OVER = "pending_unknown";

export const expired = (): Refusal =>
  new Refusal("invalid_request", REQUEST_OVER, { description: "This request has expired. Go back to the application and start again." });

/** How an authorization request was answered: the user's decision, or that none was needed. */
export type Answer = "approve" | "deny" | typeof NOTHING_ASKED;
export const NOTHING_ASKED = "nothing_asked";

/** Seconds in which the same answer of the same user counts as sent twice, as by a double click. */
const SENT_TWICE = 30;

/** A request that waits in this browser, or that the user has just answered in the same way. */
export interface OpenRequest extends WaitingRequest {
  /** Whether it was just answered so: then the browser gets the same response again, and nothing else happens. */
  readonly again: boolean;
}

/** The key of an answered request. It cannot be guessed without the request, and is specific to the answer and the user. */
const answeredHash = (requestId: string, browser: string, answer: Answer, userId: string): SecretHash =>
  hashSecret(`${requestId} ${browser} ${answer} ${userId}`);

/** Stands for the one decision on a request. Only this browser can derive it, and always alike, so every copy of a form gets one code. */
export const decisionSecret = ({ requestId, browser }: OpenRequest, userId: string): string =>
  csrfToken(browser, `decision ${requestId} ${userId}`);

/** The request that may be answered, or answered again. @throws {Refusal} invalid_request */
export async function openRequest(
  visit: Browser,
  requestId: string | undefined,
  answer: Answer,
  userId: string | undefined,
): Promise<OpenRequest> {
  if (requestId === undefined) throw expired();
  const waiting = await waitingRequest(visit, requestId);
  if (waiting) return { ...waiting, again: false };
  const browser = secretFor(visit, requestId);
  if (browser === undefined || userId === undefined) throw expired();
  const answered = await visit.ports.pendingRequests.byId(answeredHash(requestId, browser, answer, userId));
  if (!answered) throw expired();
  return { ...answered, requestId, browser, again: true };
}

/**
 * Answers the request: of several answers, one counts. @throws {Refusal} invalid_request for a different late answer
 * @returns whether the same user has just given the same answer, so that only the response is left to send
 */
export async function answerRequest({ ports: { pendingRequests } }: Browser, open: OpenRequest, answer: Answer, userId: string) {
  if (open.again) return true;
  const { requestId, browser } = open;
  const answered = answeredHash(requestId, browser, answer, userId);
  if (await pendingRequests.take(waitingHash(requestId, browser), answered, SENT_TWICE)) return false;
  if (!(await pendingRequests.byId(answered))) throw expired();
  return true;
}

/**
 * Whether the user has signed in since the request was first seen. Times are whole seconds, so within one second only the fingerprint
 * distinguishes the new session from the one before. @param session the secret of the current session
 */
export const hasSignedInSince = (
  { requestId, createdAt }: Pick<WaitingRequest, "requestId" | "createdAt">,
  signedIn: SignedIn | undefined,
  session: string | undefined,
): boolean =>
  signedIn !== undefined &&
  session !== undefined &&
  signedIn.session.authTime >= createdAt &&
  !requestId.endsWith(`.${fingerprintOf(session)}`);

/** What a valid authorization request needs next. */
export type Step =
  /** `stronger`: the class of sign-in that the present one does not reach. */
  | { readonly kind: "sign_in"; readonly stronger?: "mfa" | "phr" }
  /** The user has no sign-in of the class that is demanded, and can set one up. */
  | { readonly kind: "set_up"; readonly needed: "mfa" | "phr" }
  | { readonly kind: "consent" }
  | { readonly kind: "issue" }
  | {
      readonly kind: "refuse";
      readonly error: "login_required" | "consent_required" | "unmet_authentication_requirements";
      readonly description: string;
    };

const loginRequired = (description: string): Step => ({ kind: "refuse", error: "login_required", description });

/** The strongest class of sign-in that users can set up at this server. */
export const settableAcr = ({ relyingParty, box }: Pick<UserPorts, "relyingParty" | "box">): Acr =>
  relyingParty !== undefined ? PHISHING_RESISTANT_ACR : box.usable() ? TWO_FACTOR_ACR : PASSWORD_ACR;

/** The name of a class above the weakest. */
export const shortClass = (acr: string): "mfa" | "phr" => (acr === PHISHING_RESISTANT_ACR ? "phr" : "mfa");

/**
 * The next step of an authorization request. Pure.
 * @param renewed whether the user has signed in since the request was first seen
 * @param settable the strongest class of sign-in that the user could set up
 * @see RFC 9470 §5, OIDC Core §3.1.2.1 (prompt, max_age, id_token_hint), §3.1.2.3
 */
export function nextStep(authorization: Authorization, signedIn: SignedIn | undefined, renewed: boolean, settable: Acr): Step {
  const silent = authorization.prompt.includes("none");
  if (!signedIn || needsNewSignIn(authorization, renewed, signedIn.session.proofAge)) {
    return silent ? loginRequired("The user must sign in.") : { kind: "sign_in" };
  }
  const stronger = strongerSignIn(authorization, signedIn.session, silent, settable);
  if (stronger !== undefined) return stronger;
  if (authorization.hintedSub !== undefined && authorization.hintedSub !== signedIn.user.id) {
    return loginRequired("Another user is signed in.");
  }
  if (!authorization.consentRequired && !authorization.prompt.includes("consent")) return { kind: "issue" };
  if (silent) return { kind: "refuse", error: "consent_required", description: "The user must consent." };
  return { kind: "consent" };
}

/** The step to the class of sign-in that request, scopes and realm demand; undefined where the session has it. */
function strongerSignIn(
  { acrValues, requiredAcr: byScopes }: Authorization,
  { acr, requiredAcr: byRealm, reachableAcr: reachable }: SignedIn["session"],
  silent: boolean,
  settable: Acr,
): Step | undefined {
  const demanded = byRealm === null || (byScopes !== undefined && isAsStrong(byScopes, byRealm)) ? byScopes : byRealm;
  const needed = neededAcr(acrValues, demanded, reachable);
  if (isAsStrong(acr, needed)) return undefined;
  if (silent) return loginRequired("The user must sign in with a stronger method.");
  if (isAsStrong(reachable, needed)) return { kind: "sign_in", stronger: shortClass(needed) };
  if (isAsStrong(settable, needed)) return { kind: "set_up", needed: shortClass(needed) };
  return { kind: "refuse", error: "unmet_authentication_requirements", description: "The user has no sign-in method of this strength." };
}

/** Seconds for which a sign-in does for the request that asked for it, though that allow less: users read before they decide. */
const RENEWED = 60;

function needsNewSignIn({ prompt, maxAge }: Authorization, renewed: boolean, age: number): boolean {
  // `max_age=0` asks for a new sign-in even within the same second.
  if (!renewed && (prompt.includes("login") || prompt.includes("select_account") || maxAge === 0)) return true;
  return maxAge !== undefined && maxAge > 0 && age > (renewed ? Math.max(maxAge, RENEWED) : maxAge);
}
