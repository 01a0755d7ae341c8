import { passkeyOptions } from "../../../accounts/authenticators/passkey.ts";
import { CHALLENGE_TTL } from "../../../accounts/authenticators/webauthn.ts";
import { accountName } from "../../../accounts/caller.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { CODE_FIELD, SIGN_IN_OVER } from "../../../accounts/second-factor.ts";
import {
  completeSignIn,
  type HalfSignedIn,
  isHalf,
  type NewSession,
  raiseSession,
  signIn,
  signInByPasskey,
} from "../../../accounts/sign-in.ts";
import { EMAIL_UNVERIFIED, hasSignUp } from "../../../accounts/sign-up-policy.ts";
import { isRefusal, Refusal } from "../../../errors.ts";
import type { Form } from "../../../protocol/form.ts";
import { hashSecret, newSecret, type SecretHash } from "../../../random.ts";
import { isTrustedFor } from "../../../upstream/connection.ts";
import { assertShape, LoginBody } from "../../auth/shapes.ts";
import { sendJson, sendRedirect } from "../../http/answers.ts";
import { expired, waitingRequest } from "../../oauth/pending-request.ts";
import { isFresh, lacksCodeOnly, PROVE_AGAIN, TOO_LATE } from "../fresh-proof.ts";
import {
  beginPendingAction,
  browserCaller,
  browserToken,
  enterBrowser,
  type FormHandlers,
  failedForm,
  formFor,
  type PageHandler,
  queryForm,
  queryMember,
  returnToOf,
  signedInTo,
  type Visit,
  validRequest,
} from "../kit.ts";
import { sendForm } from "../views/cards.ts";
import { type FailedForm, hidden, html, type ReturnTo, type Site, sendPage } from "../views/layout.ts";
import { ACCOUNT_START } from "../views/sections.ts";
import { shownClient } from "../views/words.ts";
import { type SignInPage, signInView } from "./view.ts";

const purpose = (requestId: string | undefined) => `sign-in ${requestId ?? ""}`;
const purposeOf = (form: Form) => purpose(form.get("request"));

type Attempt = Pick<SignInPage, "email" | "faults"> & { readonly status: number };

const FIRST: Attempt = { email: undefined, faults: [], status: 200 };

type Asked = Omit<SignInPage, "token" | "faults" | "email" | "mayJoin" | "passkeys" | "connections">;

async function show(visit: Visit, page: Asked, { email, faults, status }: Attempt, hint?: string): Promise<void> {
  const { ports, texts } = visit;
  const passkeys = ports.relyingParty !== undefined;
  const token = browserToken(visit, purpose(page.returnTo.requestId));
  const [mayJoin, connections] = [hasSignUp(ports.signUpPolicy), await ports.connections.offered()];
  const late = queryMember(visit, TOO_LATE) === undefined ? [] : [{ message: texts.signIn.tooLate }];
  const shown = { ...page, mayJoin, passkeys, connections, token, faults: [...faults, ...late], email: email ?? hint };
  sendPage(visit, signInView(visit, shown), status);
}

async function showForRequest(visit: Visit, requestId: string, attempt: Attempt): Promise<void> {
  const { ctx, site } = visit;
  const pending = await waitingRequest(visit, requestId);
  if (!pending) throw expired();
  const signedIn = await signedInTo(visit);
  const valid = await validRequest(visit, pending, signedIn);
  if (!valid) return;
  const { step } = valid;
  const proving = signedIn !== undefined && queryMember(visit, PROVE_AGAIN) !== undefined && !isFresh(signedIn);
  const switching = attempt !== FIRST || queryMember(visit, "switch") !== undefined;
  if (step.kind !== "sign_in" && !proving && !switching) return sendRedirect(ctx, site.path("/consent", { requestId }));
  if (attempt === FIRST && !switching && signedIn && lacksCodeOnly(signedIn)) return sendRedirect(ctx, raisePath(site, { requestId }));
  const client = shownClient(visit.language, valid.authorization, valid.request.redirectUri ?? "");
  const asked = proving ? undefined : valid.authorization.loginHint;
  const isAsked = asked === undefined || accountName(asked) === accountName(signedIn?.user.email ?? "");
  const again = signedIn !== undefined && (step.kind === "sign_in" || proving) && isAsked;
  const stronger = step.kind === "sign_in" ? step.stronger : undefined;
  return show(visit, { returnTo: { requestId }, client, again, stronger }, attempt, again ? signedIn.user.email : asked);
}

/** Shows the form for a destination, unless no sign-in is needed. */
async function showForm(visit: Visit, returnTo: ReturnTo, attempt: Attempt): Promise<void> {
  if (returnTo.requestId !== undefined) return showForRequest(visit, returnTo.requestId, attempt);
  const { ctx, site } = visit;
  const signedIn = await signedInTo(visit);
  const isDone = signedIn !== undefined && (queryMember(visit, PROVE_AGAIN) === undefined || isFresh(signedIn));
  if (attempt === FIRST && isDone) return sendRedirect(ctx, site.path(returnTo.next ?? ACCOUNT_START));
  if (attempt === FIRST && signedIn && lacksCodeOnly(signedIn) && queryMember(visit, "switch") === undefined)
    return sendRedirect(ctx, raisePath(site, returnTo));
  return show(visit, { returnTo, client: undefined, again: signedIn !== undefined }, attempt, signedIn?.user.email);
}

/** @returns the new session, or the path of another page that goes on with the sign-in */
type SignInBy = (visit: Visit, form: Form, returnTo: ReturnTo) => Promise<NewSession | string>;

/** POST of a form of the page: signs in, and leads on to where the user is going. */
const signInForm =
  (signInBy: SignInBy): PageHandler =>
  async (visit) => {
    const { ctx, site } = visit;
    const form = await formFor(visit, purposeOf);
    const returnTo = returnToOf(site, form);
    const email = form.get("email");
    try {
      const outcome = await signInBy(visit, form, returnTo);
      sendRedirect(ctx, typeof outcome === "string" ? outcome : await enterBrowser(visit, outcome, returnTo));
    } catch (error) {
      if (isRefusal(error) && error.reason === EMAIL_UNVERIFIED && email !== undefined) {
        await beginPendingAction(visit, email, returnTo);
        return sendRedirect(ctx, site.path("/signup/sent", returnTo));
      }
      return showForm(visit, returnTo, { email, ...failedForm(visit, error, ["email", "password"]) });
    }
  };

/** GET /login and POST /login: with `request` for an application; without it for the account page that `next` names, or the first one. */
export const signInPage: FormHandlers = {
  GET: (visit) => showForm(visit, returnToOf(visit.site, queryForm(visit)), FIRST),
  POST: signInForm(async (visit, form, returnTo) => {
    const [email, password] = [form.get("email") ?? "", form.get("password") ?? ""];
    const connections = password === "" ? await visit.ports.connections.offered() : [];
    const trusted = connections.find((connection) => isTrustedFor(connection, email));
    if (trusted) return visit.site.path(`/signin/${trusted.name}?login_hint=${encodeURIComponent(email)}`, returnTo);
    const credentials = assertShape(LoginBody, { email, password });
    const outcome = await signIn(credentials, visit.ports, browserCaller(visit));
    return isHalf(outcome) ? beginSecondFactor(visit, outcome, returnTo) : outcome;
  }),
};

/** POST /login/passkey: the answer of a browser to a challenge. */
export const passkeySignInPage = signInForm((visit, form) => {
  const proof = { response: form.get("response") ?? "", browser: visit.cookies.browser(visit.ctx) };
  return signInByPasskey(proof, visit.ports, browserCaller(visit));
});

/** POST /login/passkey/options: a challenge for the script of the page. */
export const passkeyOptionsPage = async (visit: Visit) => {
  const { ports, cookies, ctx } = visit;
  await formFor(visit, purposeOf);
  if (ports.relyingParty === undefined) throw new Refusal("not_found", "passkeys_unavailable");
  sendJson(ctx, await passkeyOptions(ports.relyingParty, cookies.browser(ctx), ports, visit.caller));
};

/** Names a sign-in that waits. */
export const STEP_MEMBER = "step";
const PATH = "/login/code";

/** Sign-ins that wait for a second factor in one browser. */
const WAITING = 20;

const codePurpose = (step: string): string => `second factor ${step}`;

/** The key of a sign-in that waits: its id, and the secret of the browser that proved the first factor. */
const stepHash = (step: string, browser: string): SecretHash => hashSecret(`second factor ${step} ${browser}`);

const pathOf = (site: Site, step: string, returnTo: ReturnTo): string => site.path(`${PATH}?${STEP_MEMBER}=${step}`, returnTo);

/** Lets a sign-in wait in this browser for the second factor. @returns the path that asks for it */
export async function beginSecondFactor(visit: Visit, half: HalfSignedIn, returnTo: ReturnTo): Promise<string> {
  const { challenges, randomBytes } = visit.ports;
  const [step, browser] = [newSecret(randomBytes), visit.cookies.browser(visit.ctx)];
  const bound = { holder: `user ${half.userId}`, limit: WAITING };
  await challenges.put(stepHash(step, browser), "second_factor", half, CHALLENGE_TTL, bound);
  return pathOf(visit.site, step, returnTo);
}

/** The path that asks a signed-in user for the second factor alone. */
const raisePath = (site: Site, returnTo: ReturnTo): string => pathOf(site, "", returnTo);

/** The path of the sign-in page after a step that no longer waits. A user who is signed in already must still prove what the code was for. */
const latePath = (site: Site, step: string, returnTo: ReturnTo): string =>
  site.path(`/login?${step === "" ? `${PROVE_AGAIN}=yes&` : ""}${TOO_LATE}=yes`, returnTo);

/** What waits for a code: a sign-in, or a session that is to be raised. */
type Waiting = { readonly half: HalfSignedIn } | { readonly half?: undefined; readonly signedIn: SignedIn };

function showCodeForm(visit: Visit, step: string, returnTo: ReturnTo, failed: FailedForm = {}): void {
  const { site } = visit;
  const { secondFactor: texts, words } = visit.texts;
  sendForm(visit, failed, {
    title: texts.title,
    lead: texts.lead,
    action: site.path(PATH),
    members: html`${hidden(browserToken(visit, codePurpose(step)), returnTo)}<input type="hidden" name="${STEP_MEMBER}" value="${step}">`,
    fields: [{ name: CODE_FIELD, label: words.code, type: "text", autocomplete: "one-time-code", autofocus: true, hint: texts.hint }],
    submit: words.continue,
    after: html`<a href="${site.path("/login?switch=yes", returnTo)}">${texts.otherWay}</a>`,
    below: texts.lost(site.host),
  });
}

async function waitingFor(visit: Visit, step: string): Promise<Waiting | undefined> {
  const { ctx, ports, cookies } = visit;
  if (step === "") {
    const signedIn = await signedInTo(visit);
    return signedIn && lacksCodeOnly(signedIn) ? { signedIn } : undefined;
  }
  const half = stepHash(step, cookies.browser(ctx));
  const found = await ports.challenges.byId(half, "second_factor");
  return found?.userId == null ? undefined : { half: { ...found, userId: found.userId, half } };
}

function provedBy(visit: Visit, found: Waiting, code: string): Promise<NewSession> {
  const [{ ports }, caller] = [visit, browserCaller(visit)];
  return found.half ? completeSignIn(found.half, code, ports, caller) : raiseSession(found.signedIn, code, ports, caller);
}

/** GET and POST /login/code: the second factor, after a password or another provider, or of a user who has just signed in by one factor. */
export const secondFactorPage: FormHandlers = {
  async GET(visit) {
    const query = queryForm(visit);
    const [step, returnTo] = [query.get(STEP_MEMBER) ?? "", returnToOf(visit.site, query)];
    if ((await waitingFor(visit, step)) === undefined) return sendRedirect(visit.ctx, latePath(visit.site, step, returnTo));
    showCodeForm(visit, step, returnTo);
  },
  async POST(visit) {
    const { ctx, site } = visit;
    const form = await formFor(visit, (sent) => codePurpose(sent.get(STEP_MEMBER) ?? ""));
    const [step, returnTo] = [form.get(STEP_MEMBER) ?? "", returnToOf(site, form)];
    const found = await waitingFor(visit, step);
    if (found === undefined) return sendRedirect(ctx, latePath(site, step, returnTo));
    try {
      const session = await provedBy(visit, found, form.get(CODE_FIELD) ?? "");
      sendRedirect(ctx, await enterBrowser(visit, session, returnTo));
    } catch (error) {
      if (isRefusal(error) && error.reason === SIGN_IN_OVER) return sendRedirect(ctx, latePath(site, step, returnTo));
      showCodeForm(visit, step, returnTo, failedForm(visit, error, [CODE_FIELD]));
    }
  },
};
