import { passkeyOptions } from "../../../accounts/authenticators/passkey.ts";
import { accountName } from "../../../accounts/caller.ts";
import { isHalf, type NewSession, signIn, signInByPasskey } from "../../../accounts/sign-in.ts";
import { EMAIL_UNVERIFIED, hasSignUp } from "../../../accounts/sign-up-policy.ts";
import { isRefusal, Refusal } from "../../../errors.ts";
import type { Form } from "../../../protocol/form.ts";
import { TEXTS } from "../../../texts/languages.ts";
import { assertShape, LoginBody } from "../../auth/shapes.ts";
import { callerOf } from "../../http/address.ts";
import { formBody } from "../../http/body.ts";
import { pageHeaders, SCRIPTED_POLICY, sendJson, sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
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
import { type ReturnTo, sendPage } from "../views/layout.ts";
import { ACCOUNT_START } from "../views/sections.ts";
import { shownClient } from "../views/words.ts";
import { beginSecondFactor, raisePath } from "./second-factor.ts";
import { type SignInPage, signInView } from "./view.ts";

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
