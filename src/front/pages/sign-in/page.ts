import { passkeyOptions } from "../../../accounts/authenticators/passkey.ts";
import { CHALLENGE_TTL } from "../../../accounts/authenticators/webauthn.ts";
import { accountName, type Caller } from "../../../accounts/caller.ts";
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
import { TEXTS } from "../../../texts/languages.ts";
import { completeArrival } from "../../../upstream/sign-in.ts";
import { assertShape, LoginBody } from "../../auth/shapes.ts";
import { pageHeaders, SCRIPTED_POLICY, sendJson, sendRedirect } from "../../http/answers.ts";
import { formBody } from "../../http/body.ts";
import { callerOf, languageOf } from "../../http/caller.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { browserSecret, expired, waitingRequest } from "../../oauth/pending-request.ts";
import { isFresh, lacksCodeOnly, PROVE_AGAIN, TOO_LATE } from "../fresh-proof.ts";
import {
  beginPendingAction,
  browserCaller,
  browserToken,
  enterBrowser,
  failedForm,
  type PageKit,
  queryForm,
  queryMember,
  returnToOf,
  signedInTo,
  validRequest,
} from "../kit.ts";
import { connectionFor, upstreamPath } from "../upstream/detour.ts";
import { type FailedForm, type ReturnTo, sendPage } from "../views/layout.ts";
import { ACCOUNT_START } from "../views/sections.ts";
import { shownClient } from "../views/words.ts";
import { type SignInPage, secondFactorView, signInView } from "./view.ts";

const purpose = (requestId: string | undefined) => `sign-in ${requestId ?? ""}`;

type Attempt = Pick<SignInPage, "email" | "faults"> & { readonly status: number };

const FIRST: Attempt = { email: undefined, faults: [], status: 200 };

/** Shows the form for a destination, unless no sign-in is needed. */
type ShowForm = (ctx: FrontContext, returnTo: ReturnTo, attempt: Attempt) => Promise<void>;

function formShower(kit: PageKit): ShowForm {
  const { ports, site } = kit;
  const passkeys = ports.relyingParty !== undefined;

  const show = async (
    ctx: FrontContext,
    page: Omit<SignInPage, "token" | "faults" | "email" | "mayJoin" | "passkeys" | "connections">,
    { email, faults, status }: Attempt,
    { hint, clientId }: { readonly hint?: string | undefined; readonly clientId?: string | undefined } = {},
  ) => {
    const token = browserToken(kit, ctx, purpose(page.returnTo.requestId));
    const [mayJoin, connections] = [hasSignUp(ports.signUpPolicy), await ports.connections.offered(clientId)];
    const late = queryMember(ctx, TOO_LATE) === undefined ? [] : [{ message: TEXTS[languageOf(ctx)].signIn.tooLate }];
    const shown = { ...page, mayJoin, passkeys, connections, token, faults: [...faults, ...late], email: email ?? hint };
    sendPage(ctx, signInView(site, languageOf(ctx), shown), status);
    if (passkeys) pageHeaders(ctx, SCRIPTED_POLICY);
  };

  async function showForRequest(ctx: FrontContext, requestId: string, attempt: Attempt): Promise<void> {
    const pending = await waitingRequest(kit, ctx, requestId);
    if (!pending) throw expired();
    const signedIn = await signedInTo(kit, ctx);
    const valid = await validRequest(kit, ctx, pending, signedIn);
    if (!valid) return;
    const { step } = valid;
    const proving = signedIn !== undefined && queryMember(ctx, PROVE_AGAIN) !== undefined && !isFresh(signedIn);
    const switching = attempt !== FIRST || queryMember(ctx, "switch") !== undefined;
    if (step.kind !== "sign_in" && !proving && !switching) return sendRedirect(ctx, site.path("/consent", { requestId }));
    if (attempt === FIRST && !switching && signedIn && lacksCodeOnly(signedIn)) return sendRedirect(ctx, raisePath(kit, { requestId }));
    const client = shownClient(languageOf(ctx), valid.authorization, valid.request.redirectUri ?? "");
    const asked = proving ? undefined : valid.authorization.loginHint;
    const isAsked = asked === undefined || accountName(asked) === accountName(signedIn?.user.email ?? "");
    const again = signedIn !== undefined && (step.kind === "sign_in" || proving) && isAsked;
    const stronger = step.kind === "sign_in" ? step.stronger : undefined;
    return show(ctx, { returnTo: { requestId }, client, again, stronger }, attempt, {
      hint: again ? signedIn.user.email : asked,
      clientId: valid.authorization.client?.clientId,
    });
  }

  const showPlain = async (ctx: FrontContext, returnTo: ReturnTo, attempt: Attempt) => {
    const signedIn = await signedInTo(kit, ctx);
    const isDone = signedIn !== undefined && (queryMember(ctx, PROVE_AGAIN) === undefined || isFresh(signedIn));
    if (attempt === FIRST && isDone) return sendRedirect(ctx, site.path(returnTo.next ?? ACCOUNT_START));
    if (attempt === FIRST && signedIn && lacksCodeOnly(signedIn) && queryMember(ctx, "switch") === undefined)
      return sendRedirect(ctx, raisePath(kit, returnTo));
    return show(ctx, { returnTo, client: undefined, again: signedIn !== undefined }, attempt, { hint: signedIn?.user.email });
  };

  return (ctx, returnTo, attempt) =>
    returnTo.requestId === undefined ? showPlain(ctx, returnTo, attempt) : showForRequest(ctx, returnTo.requestId, attempt);
}

/** @returns the new session, or the path of another page that goes on with the sign-in */
type SignInBy = (ctx: FrontContext, form: Form, returnTo: ReturnTo) => Promise<NewSession | string>;

/** POST of a form of the page: signs in, and leads on to where the user is going. */
const signInForm =
  (kit: PageKit, showForm: ShowForm, signInBy: SignInBy): Handler =>
  async (ctx) => {
    const { guard, site } = kit;
    const form = await formBody(ctx);
    const returnTo = returnToOf(site, form);
    guard.assert(ctx, form, purpose(returnTo.requestId));
    const email = form.get("email");
    let path: string;
    try {
      const outcome = await signInBy(ctx, form, returnTo);
      if (typeof outcome === "string") return sendRedirect(ctx, outcome);
      path = await enterBrowser(kit, ctx, outcome, returnTo);
    } catch (error) {
      if (isRefusal(error) && error.reason === EMAIL_UNVERIFIED && email !== undefined) {
        await beginPendingAction(kit, ctx, email, returnTo);
        return sendRedirect(ctx, site.path("/signup/sent", returnTo));
      }
      return showForm(ctx, returnTo, { email, ...failedForm(ctx, error, ["email", "password"]) });
    }
    sendRedirect(ctx, path);
  };

/** GET /login and POST /login: with `request` for an application; without it for the account page that `next` names, or the first one. */
export function signInPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const showForm = formShower(kit);
  return {
    GET: (ctx) => showForm(ctx, returnToOf(kit.site, queryForm(ctx)), FIRST),
    POST: signInForm(kit, showForm, async (ctx, form, returnTo) => {
      const [email, password] = [form.get("email") ?? "", form.get("password") ?? ""];
      const connection = password === "" ? await connectionFor(kit, ctx, email, returnTo) : undefined;
      if (connection !== undefined) return upstreamPath(kit.site, connection.name, returnTo, email);
      const credentials = assertShape(LoginBody, { email, password });
      const outcome = await signIn(credentials, kit.ports, browserCaller(kit, ctx));
      return isHalf(outcome) ? beginSecondFactor(kit, ctx, outcome, returnTo) : outcome;
    }),
  };
}

/** POST /login/passkey: the answer of a browser to a challenge. */
export const passkeySignInPage = (kit: PageKit): Handler =>
  signInForm(kit, formShower(kit), (ctx, form) => {
    const browser = browserSecret(ctx, kit.cookies, kit.ports.randomBytes);
    const proof = { response: form.get("response") ?? "", browser };
    return signInByPasskey(proof, kit.ports, browserCaller(kit, ctx));
  });

/** POST /login/passkey/options: a challenge for the script of the page. */
export const passkeyOptionsPage =
  ({ ports, cookies, guard, site }: PageKit): Handler =>
  async (ctx) => {
    const form = await formBody(ctx);
    guard.assert(ctx, form, purpose(returnToOf(site, form).requestId));
    if (ports.relyingParty === undefined) throw new Refusal("not_found", "passkeys_unavailable");
    const browser = browserSecret(ctx, cookies, ports.randomBytes);
    sendJson(ctx, await passkeyOptions(ports.relyingParty, browser, ports, callerOf(ctx)));
  };

/** Names a sign-in that waits. */
export const STEP_MEMBER = "step";
const PATH = "/login/code";

/** Sign-ins that wait for a second factor in one browser. */
const WAITING = 20;

const codePurpose = (step: string): string => `second factor ${step}`;

/** The key of a sign-in that waits: its id, and the secret of the browser that proved the first factor. */
const stepHash = (step: string, browser: string): SecretHash => hashSecret(`second factor ${step} ${browser}`);

const pathOf = ({ site }: PageKit, step: string, returnTo: ReturnTo): string => site.path(`${PATH}?${STEP_MEMBER}=${step}`, returnTo);

/** Lets a sign-in wait in this browser for the second factor. @returns the path that asks for it */
export async function beginSecondFactor(kit: PageKit, ctx: FrontContext, half: HalfSignedIn, returnTo: ReturnTo): Promise<string> {
  const { challenges, randomBytes } = kit.ports;
  const [step, browser] = [newSecret(randomBytes), browserSecret(ctx, kit.cookies, randomBytes)];
  const bound = { holder: `user ${half.userId}`, limit: WAITING };
  await challenges.put(stepHash(step, browser), "second_factor", half, CHALLENGE_TTL, bound);
  return pathOf(kit, step, returnTo);
}

/** The path that asks a signed-in user for the second factor alone. */
const raisePath = (kit: PageKit, returnTo: ReturnTo): string => pathOf(kit, "", returnTo);

/** The path of the sign-in page after a step that no longer waits. A user who is signed in already must still prove what the code was for. */
const latePath = ({ site }: PageKit, step: string, returnTo: ReturnTo): string =>
  site.path(`/login?${step === "" ? `${PROVE_AGAIN}=yes&` : ""}${TOO_LATE}=yes`, returnTo);

/** What waits for a code: a sign-in under its key, or a session that is to be raised. */
type Waiting = { readonly key: SecretHash; readonly half: HalfSignedIn } | { readonly key?: undefined; readonly signedIn: SignedIn };

/** GET and POST /login/code: the second factor, after a password or another provider, or of a user who has just signed in by one factor. */
export function secondFactorPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, cookies, guard, site } = kit;

  const show = (ctx: FrontContext, step: string, returnTo: ReturnTo, { faults = [], status }: FailedForm = {}): void => {
    const page = { token: browserToken(kit, ctx, codePurpose(step)), step: [STEP_MEMBER, step] as const, returnTo, faults };
    sendPage(ctx, secondFactorView(site, languageOf(ctx), page), status);
  };

  async function waiting(ctx: FrontContext, step: string): Promise<Waiting | undefined> {
    if (step === "") {
      const signedIn = await signedInTo(kit, ctx);
      return signedIn && lacksCodeOnly(signedIn) ? { signedIn } : undefined;
    }
    const key = stepHash(step, browserSecret(ctx, cookies, ports.randomBytes));
    const found = await ports.challenges.byId(key, "second_factor");
    return found?.userId == null ? undefined : { key, half: { ...found, userId: found.userId } };
  }

  const proved = (found: Waiting, code: string, caller: Caller): Promise<NewSession> => {
    if (found.key === undefined) return raiseSession(found.signedIn, code, ports, caller);
    const { userId, upstream } = found.half;
    if (upstream !== null) return completeArrival({ userId, upstream, half: found.key }, code, ports, caller);
    return completeSignIn({ ...found.half, half: found.key }, code, ports, caller);
  };

  return {
    async GET(ctx) {
      const query = queryForm(ctx);
      const [step, returnTo] = [query.get(STEP_MEMBER) ?? "", returnToOf(site, query)];
      if ((await waiting(ctx, step)) === undefined) return sendRedirect(ctx, latePath(kit, step, returnTo));
      show(ctx, step, returnTo);
    },
    async POST(ctx) {
      const form = await formBody(ctx);
      const [step, returnTo] = [form.get(STEP_MEMBER) ?? "", returnToOf(site, form)];
      guard.assert(ctx, form, codePurpose(step));
      const found = await waiting(ctx, step);
      if (found === undefined) return sendRedirect(ctx, latePath(kit, step, returnTo));
      try {
        const session = await proved(found, form.get(CODE_FIELD) ?? "", browserCaller(kit, ctx));
        sendRedirect(ctx, await enterBrowser(kit, ctx, session, returnTo));
      } catch (error) {
        if (isRefusal(error) && error.reason === SIGN_IN_OVER) return sendRedirect(ctx, latePath(kit, step, returnTo));
        show(ctx, step, returnTo, failedForm(ctx, error, [CODE_FIELD]));
      }
    },
  };
}
