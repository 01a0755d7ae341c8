import { SESSION_ENDED } from "../../accounts/account.ts";
import { type Caller, DEVICE_TTL, deviceKey } from "../../accounts/caller.ts";
import { assertGoodPassword } from "../../accounts/password-rules.ts";
import type { Session, SignedIn, User } from "../../accounts/ports.ts";
import type { NewSession } from "../../accounts/sign-in.ts";
import { EMAIL_UNVERIFIED } from "../../accounts/sign-up-policy.ts";
import { CATALOGUE, isRefusal, type RefusalCode } from "../../errors.ts";
import { mayMakeClients } from "../../management/acts.ts";
import { isAsStrong } from "../../protocol/authentication-context.ts";
import { type Form, parseForm } from "../../protocol/form.ts";
import { newSecret } from "../../random.ts";
import { DONE_MEMBER, donePurpose } from "../done.ts";
import { sendRedirect } from "../http/answers.ts";
import { formBody } from "../http/body.ts";
import { type Cookies, csrfToken, readSession } from "../http/cookies.ts";
import { pathText, queryText } from "../http/routes.ts";
import { validateRequest } from "../oauth/authorize.ts";
import {
  extendRequest,
  hasSignedInSince,
  nextStep,
  PENDING_ACTION_TTL,
  settableAcr,
  shortClass,
  storedRequest,
  type WaitingRequest,
  waitingRequest,
} from "../oauth/pending-request.ts";
import type { UserPorts } from "../user-ports.ts";
import { refusalFaults } from "./errors.ts";
import type { AccountPage } from "./views/cards.ts";
import { type Asked, type FailedForm, type ReturnTo, returnToMember, type Site } from "./views/layout.ts";
import { ACCOUNT_START, CONFIRM_ADDRESS, PROVED_PAGES } from "./views/sections.ts";

export interface PageKit {
  readonly ports: UserPorts;
  readonly cookies: Cookies;
  readonly site: Site;
}

/** One request to a page, with the language of its answer. */
export type Visit = PageKit & Asked & { readonly caller: Caller };

export type PageHandler<Of extends Visit = Visit> = (visit: Of) => Promise<void> | void;

export type FormHandlers = { readonly GET: PageHandler; readonly POST: PageHandler };

/** What a form does. @returns the path to redirect to, or undefined when it has answered */
export type FormAct<Of extends Visit = Visit> = (visit: Of, form: Form, signedIn: SignedIn) => Promise<string | undefined>;

/** Shows a form again. @throws the error that the user cannot correct */
export type FormRefused = (visit: Visit, signedIn: SignedIn, error: unknown, form: Form) => Promise<void> | void;

/** The members of the query. @throws {Refusal} invalid_request */
export const queryForm = ({ ctx }: Visit): Form => parseForm(queryText(ctx));

/** A member of the query. @throws {Refusal} invalid_request */
export const queryMember = (visit: Visit, name: string): string | undefined =>
  queryText(visit.ctx) === "" ? undefined : queryForm(visit).get(name);

/** The form that was sent. @param purpose of its token  @throws {Refusal} forbidden for a form of another site or browser */
export async function formFor({ cookies, ctx }: Visit, purpose: string | ((form: Form) => string)): Promise<Form> {
  const form = await formBody(ctx);
  cookies.assertForm(ctx, form, typeof purpose === "string" ? purpose : purpose(form));
  return form;
}

/** The token of a form of this browser, also of a signed-in user: the session may be replaced until the form is sent, as by a sign-in in another tab. */
export const browserToken = ({ cookies, ctx }: Visit, purpose: string): string => csrfToken(cookies.browser(ctx), purpose);

/** What was just done in this browser; undefined without a right token, as in a link of another site. @throws {Refusal} invalid_request */
export function doneOf(visit: Visit): string | undefined {
  const member = queryMember(visit, DONE_MEMBER);
  if (member === undefined) return undefined;
  const [done = "", token] = member.split(".");
  return visit.cookies.isToken(visit.ctx, token, donePurpose(done)) ? done : undefined;
}

/** The session of the browser. What follows names its user, and has the branding of their realm and the links that their role gives. */
export async function signedInTo({ cookies, ports, ctx }: Visit): Promise<SignedIn | undefined> {
  const signedIn = await readSession(cookies.session(ctx), ports.sessions);
  if (signedIn === undefined) return undefined;
  const { realmId, role, email } = signedIn.user;
  ctx.state.realmId = realmId;
  ctx.state.signedInAs = email;
  ctx.state.hasConsole = mayMakeClients(role, ports.signUpPolicy.developers);
  return signedIn;
}

const CORRECTABLE: readonly RefusalCode[] = ["invalid_request", "unauthenticated", "conflict", "too_many_requests"];
const CORRECTABLE_REASONS: readonly string[] = ["sign_up_domain", EMAIL_UNVERIFIED];

/**
 * The faults, in the user's language, and the status of a form that is shown again after a refusal that the user can correct. Sets
 * Retry-After where it is known. @throws any other error
 */
export function failedForm({ ctx, language }: Visit, error: unknown, fields: readonly string[]) {
  if (!isRefusal(error) || !(CORRECTABLE.includes(error.code) || CORRECTABLE_REASONS.includes(error.reason))) throw error;
  const { code, detail } = error;
  if (detail.retryAfter !== undefined) ctx.set("Retry-After", String(detail.retryAfter));
  return { faults: refusalFaults(language, error, fields), status: CATALOGUE[code].http };
}

const ACCOUNT_FIELDS = ["email", "password"];

/**
 * The faults of a form that opens an account, as of {@link failedForm}. Its shape is checked before the rules for passwords, which are
 * looked at here too, so that the user corrects both fields at once.
 */
export async function failedAccountForm(visit: Visit, error: unknown, form: Form) {
  const failed = failedForm(visit, error, ACCOUNT_FIELDS);
  const isOfShape = isRefusal(error) && error.reason === "body_shape";
  if (!isOfShape || failed.faults.some(({ field }) => field === "password")) return failed;
  try {
    await assertGoodPassword(form.get("password") ?? "", form.get("email") ?? "");
    return failed;
  } catch (weak) {
    return { ...failed, faults: [...failed.faults, ...failedForm(visit, weak, ACCOUNT_FIELDS).faults] };
  }
}

const accountPurpose = ({ id }: Pick<User, "id">): string => `account ${id}`;

/**
 * The token of every form of the account pages. It is the user's in this browser, so that the form counts after they have signed in again, as
 * for a fresh proof in another tab, and never for another user.
 */
export function accountToken({ cookies, ctx }: Visit, user: Pick<User, "id">): string {
  return csrfToken(cookies.device(ctx) ?? cookies.browser(ctx), accountPurpose(user));
}

/** GET of an account page; a user who is not signed in is redirected to sign in, and returns. */
export const accountPageHandler =
  <Of extends Visit = Visit>(show: (visit: Of, page: AccountPage) => Promise<void> | void): PageHandler<Of> =>
  async (visit) => {
    const signedIn = await signedInTo(visit);
    if (!signedIn) return sendRedirect(visit.ctx, signInFor(visit.site, pathText(visit.ctx)));
    await show(visit, { signedIn, done: doneOf(visit) });
  };

/** A form that is shown again because what it was about is gone. @throws any other error */
export function goneForm(error: unknown, message: string): FailedForm {
  if (!isRefusal(error) || error.code !== "not_found") throw error;
  return { faults: [{ message }], status: CATALOGUE.not_found.http };
}

/** Ignores `not_found` of a removal: the first of two clicks may have removed it. */
export async function goneAfter(ending: Promise<void>): Promise<void> {
  try {
    await ending;
  } catch (error) {
    if (!isRefusal(error) || error.code !== "not_found") throw error;
  }
}

/**
 * The user who sent a form of an account page. A form of another site is refused before anything is looked up.
 * @returns undefined for a form that outlived its session, with which nothing is to be done
 * @throws {Refusal} forbidden, also for the form of another user of this browser, and for a browser that keeps no cookies
 */
export async function senderOfForm(visit: Visit, form: Form): Promise<SignedIn | undefined> {
  const { cookies, ctx } = visit;
  cookies.assertSameSite(ctx);
  const signedIn = await signedInTo(visit);
  const hasOutlived = signedIn === undefined && (cookies.session(ctx) ?? cookies.device(ctx)) !== undefined;
  if (!hasOutlived) cookies.assertForm(ctx, form, signedIn ? accountPurpose(signedIn.user) : "");
  return signedIn;
}

/** POST of a form of an account page. @param refused answers where it threw; by default its route does */
export const accountForm =
  <Of extends Visit = Visit>(act: FormAct<Of>, refused?: FormRefused): PageHandler<Of> =>
  async (visit) => {
    const { ctx, site } = visit;
    const form = await formBody(ctx);
    const toSignIn = () => sendRedirect(ctx, signInFor(site, pathText(ctx), returnToOf(site, form)));
    const signedIn = await senderOfForm(visit, form);
    if (!signedIn) return toSignIn();
    try {
      const next = await act(visit, form, signedIn);
      if (next !== undefined) sendRedirect(ctx, site.path(next));
    } catch (error) {
      if (isRefusal(error) && error.reason === SESSION_ENDED) return toSignIn();
      if (refused === undefined) throw error;
      await refused(visit, signedIn, error, form);
    }
  };

/** The path to sign in and return to the destination, or else to the account page with this path, or to the page whose form has it. Pure. */
export function signInFor(site: Site, path: string, returnTo: ReturnTo = {}, query = ""): string {
  if (returnTo.requestId !== undefined) return site.path(`/login${query}`, returnTo);
  const section = site.sections.find((one) => one.path !== ACCOUNT_START && `${path}/`.startsWith(`${one.path}/`));
  return site.path(`/login${query}`, { next: PROVED_PAGES.find((one) => one === path) ?? section?.path });
}

/** The link in the mail to a new address. */
const ADDRESS_LINK = new RegExp(`^${CONFIRM_ADDRESS}\\?token=[0-9a-fA-F]{64}$`);

/**
 * The destination that a query or a form names: a request, or exactly the path of an account page or the link to a new address, so it cannot
 * lead to another site. Pure.
 */
export function returnToOf(site: Site, members: Pick<Form, "get">): ReturnTo {
  const requestId = members.get("request");
  if (requestId !== undefined) return { requestId };
  const named = members.get("next") ?? "";
  const paths: readonly string[] = [...site.sections.map(({ path }) => path).filter((path) => path !== ACCOUNT_START), ...PROVED_PAGES];
  const next = ADDRESS_LINK.test(named) ? named : paths.find((path) => path === named);
  return next === undefined ? {} : { next };
}

/** The caller in a browser that may be known. */
export const browserCaller = ({ cookies, ctx, caller }: Visit): Caller => ({
  ...caller,
  device: cookies.device(ctx),
  session: cookies.session(ctx),
});

/** Gives the browser of a user who has proved who they are limits of its own. */
export async function rememberBrowser({ ports, cookies, ctx }: Visit, { id, email }: Pick<User, "id" | "email">): Promise<void> {
  const device = cookies.device(ctx) ?? newSecret(ports.randomBytes);
  await ports.knownDevices.remember(deviceKey(email, device), id, DEVICE_TTL);
  cookies.startDevice(ctx, device, DEVICE_TTL);
}

export async function startBrowserSession(visit: Visit, { user, secret }: Pick<NewSession, "user" | "secret">): Promise<void> {
  visit.cookies.startSession(visit.ctx, secret, visit.ports.sessionTtl);
  await rememberBrowser(visit, user);
}

/** Where a user goes who has signed in. */
export const destinationOf = (site: Site, returnTo: ReturnTo): string =>
  returnTo.requestId === undefined ? site.path(returnTo.next ?? ACCOUNT_START) : site.path("/consent", returnTo);

/** A waiting request that the core finds valid, and its next step. @returns undefined when the response is written */
export async function validRequest(visit: Visit, waiting: WaitingRequest, signedIn?: SignedIn) {
  const valid = await validateRequest(visit, storedRequest(waiting.query), signedIn);
  if (!valid) return undefined;
  const renewed = hasSignedInSince(waiting, signedIn, visit.cookies.session(visit.ctx));
  return { ...valid, step: nextStep(valid.authorization, signedIn, renewed, settableAcr(visit.ports)) };
}

/** The page that helps a user to the class of sign-in that is demanded of them. */
export const SET_UP = "/login/set-up";

/** The class that the user's realm demands, which this sign-in is not of, and which they cannot reach but could set up. */
export function unreachedByRealm({ requiredAcr, acr, reachableAcr }: Session, ports: UserPorts): "mfa" | "phr" | undefined {
  if (requiredAcr === null || isAsStrong(acr, requiredAcr) || isAsStrong(reachableAcr, requiredAcr)) return undefined;
  return isAsStrong(settableAcr(ports), requiredAcr) ? shortClass(requiredAcr) : undefined;
}

/**
 * The path where a user goes on who has just signed in. What the realm demands and they have not set up comes first; an application's request
 * is led there by its own demand.
 */
export const pathFrom = (
  { site, ports }: Visit,
  { session }: NewSession,
  returnTo: ReturnTo,
  path = destinationOf(site, returnTo),
): string => (returnTo.requestId === undefined && unreachedByRealm(session, ports) !== undefined ? site.path(SET_UP, returnTo) : path);

/** Gives a browser the session of a user who has signed in. @returns the path where they go on */
export async function enterBrowser(visit: Visit, entered: NewSession, returnTo: ReturnTo): Promise<string> {
  await startBrowserSession(visit, entered);
  visit.cookies.endPendingAction(visit.ctx);
  return pathFrom(visit, entered, returnTo);
}

/**
 * Remembers, in this browser, the address of a mail and where the user was going, which the link in the mail does not contain. Another
 * browser that opens the link knows neither.
 */
export async function beginPendingAction(visit: Visit, email: string, returnTo: ReturnTo): Promise<void> {
  const action = new URLSearchParams({ email });
  const destination = returnToMember(returnTo);
  if (destination !== undefined) action.append(...destination);
  visit.cookies.startPendingAction(visit.ctx, action.toString(), PENDING_ACTION_TTL);
  await extendRequest(visit, returnTo);
}

/** Where the user was going in this browser before the mail, if the request still waits. */
export async function returnToStarted(visit: Visit): Promise<ReturnTo> {
  const pendingAction = visit.cookies.pendingAction(visit.ctx);
  const returnTo = pendingAction === undefined ? {} : returnToOf(visit.site, pendingAction);
  if (returnTo.requestId === undefined) return returnTo;
  return (await waitingRequest(visit, returnTo.requestId)) === undefined ? {} : returnTo;
}
