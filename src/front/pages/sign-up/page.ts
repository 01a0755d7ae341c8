import { type NewAccount, registerOnce, resendVerification } from "../../../accounts/registration.ts";
import { signInNewcomer } from "../../../accounts/sign-in.ts";
import { hasSignUp, needsProof, type SignUpPolicy } from "../../../accounts/sign-up-policy.ts";
import { type Language, shownList, TEXTS } from "../../../texts/languages.ts";
import { assertShape, EmailBody, RegisterBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { formBody } from "../../http/body.ts";
import { sendRedirect } from "../../http/headers.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import {
  beginPendingAction,
  browserCaller,
  browserToken,
  doneOf,
  failedAccountForm,
  failedForm,
  mailedTo,
  type PageKit,
  queryForm,
  returnToOf,
  returnToStarted,
  startBrowserSession,
} from "../kit.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import {
  type FailedForm,
  type FormPage,
  field,
  type HostedPage,
  hidden,
  html,
  type ReturnTo,
  returnToMember,
  type Site,
  sendPage,
} from "../views/layout.ts";
import { ACCOUNT_START } from "../views/sections.ts";

const purpose = (requestId: string | undefined) => `sign-up ${requestId ?? ""}`;
/** The purpose of the token in a form that asks for another verification mail. */
export const RESEND = "resend";

export function signUpPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site } = kit;
  const { signUpPolicy } = ports;
  const show = (ctx: FrontContext, returnTo: ReturnTo, email?: string, { faults = [], status }: FailedForm = {}) => {
    if (!hasSignUp(signUpPolicy)) return sendPage(ctx, noSignUpView(site, languageOf(ctx), signUpPolicy, returnTo), 403);
    const page = { token: browserToken(kit, ctx, purpose(returnTo.requestId)), returnTo, email, faults, domains: signUpPolicy.domains };
    sendPage(ctx, signUpView(site, languageOf(ctx), page), status);
  };
  return {
    GET: (ctx) => show(ctx, returnToOf(site, queryForm(ctx))),
    async POST(ctx) {
      const form = await formBody(ctx);
      const returnTo = returnToOf(site, form);
      guard.assert(ctx, form, purpose(returnTo.requestId));
      if (!hasSignUp(signUpPolicy)) return show(ctx, returnTo);
      const email = form.get("email");
      try {
        const signUp = assertShape(RegisterBody, { email: email ?? "", password: form.get("password") });
        const account = await registerOnce(signUp, ports, callerOf(ctx));
        await beginPendingAction(kit, ctx, account.user.email, returnTo);
        if (!needsProof(account.user, signUpPolicy)) return await enter(kit, ctx, account, returnTo);
      } catch (error) {
        return show(ctx, returnTo, email, await failedAccountForm(ctx, error, form));
      }
      sendRedirect(ctx, site.path("/signup/sent", returnTo));
    },
  };
}

/** Signs in a user who has just signed up, and continues where they were going; the mail with the link may be read later. */
async function enter(kit: PageKit, ctx: FrontContext, account: NewAccount, returnTo: ReturnTo): Promise<void> {
  const { ports, site } = kit;
  const session = await signInNewcomer(account, "sign_up", ports, browserCaller(kit, ctx));
  await startBrowserSession(kit, ctx, session);
  const page = returnTo.next ?? donePath(kit, ctx, ACCOUNT_START, "joined");
  sendRedirect(ctx, returnTo.requestId === undefined ? site.path(page) : site.path("/consent", returnTo));
}

/** The value of `done` after another mail was requested. */
const AGAIN = "again";

/** GET /signup/sent: the mail is on its way. A separate page, so that reloading it does not sign up again. */
export const signUpSentPage =
  (kit: PageKit): Handler =>
  (ctx) => {
    const { site } = kit;
    const [returnTo, email] = [returnToOf(site, queryForm(ctx)), mailedTo(kit, ctx)];
    if (email === undefined) return sendRedirect(ctx, site.path("/login", returnTo));
    const again = doneOf(kit, ctx) === AGAIN;
    sendPage(ctx, checkMailView(site, languageOf(ctx), { email, token: browserToken(kit, ctx, RESEND), returnTo, again }));
  };

/** POST /signup/resend: another verification mail after a sign-up. */
export const resendPage =
  (kit: PageKit): Handler =>
  async (ctx) => {
    const { ports, guard, site } = kit;
    const form = await formBody(ctx);
    guard.assert(ctx, form, RESEND);
    const [email, named] = [form.get("email") ?? "", returnToOf(site, form)];
    // The page of an expired link does not know the destination.
    const returnTo = returnToMember(named) !== undefined ? named : await returnToStarted(kit, ctx);
    try {
      await resendVerification(assertShape(EmailBody, { email }).email, ports, callerOf(ctx));
    } catch (error) {
      const { faults, status } = failedForm(ctx, error, ["email"]);
      return sendPage(ctx, resendView(site, languageOf(ctx), { email, token: browserToken(kit, ctx, RESEND), returnTo, faults }), status);
    }
    await beginPendingAction(kit, ctx, email, returnTo);
    sendRedirect(ctx, site.path(donePath(kit, ctx, "/signup/sent", AGAIN), returnTo));
  };

interface SignUpPage extends FormPage {
  /** The domains of addresses that may sign up; none: all. */
  readonly domains: readonly string[];
}

function signUpView(site: Site, language: Language, page: SignUpPage): HostedPage {
  const { token, returnTo, email, faults, domains } = page;
  const texts = TEXTS[language].signUp;
  const hint = domains.length === 0 ? undefined : texts.domains(shownList(language, domains));
  const autofocus = faults.length === 0;
  return formView(site, language, {
    title: texts.title,
    lead: texts.lead,
    action: site.path("/signup"),
    members: hidden(token, returnTo),
    fields: [
      { name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, autofocus, hint },
      { name: "password", label: texts.password, type: "password", autocomplete: "new-password", hint: texts.passwordHint },
    ],
    faults,
    submit: texts.submit,
    below: html`${texts.haveAccount} <a href="${site.path("/login", returnTo)}">${texts.signIn}</a>`,
  });
}

/** Where users cannot sign up without an operator. */
function noSignUpView(site: Site, language: Language, { mode }: Pick<SignUpPolicy, "mode">, returnTo: ReturnTo): HostedPage {
  const { noSignUp, signIn } = TEXTS[language].signUp;
  const { title, invited, closed } = noSignUp;
  const more = wideLink(site.path("/login", returnTo), signIn);
  return noticeView(site, language, { tone: "plain", title, text: (mode === "invited" ? invited : closed)(site.host), more });
}

/** After a verification link was used. @param returnTo where the user was going in this browser before they read the mail */
export function verifiedView(site: Site, language: Language, email: string, returnTo: ReturnTo): HostedPage {
  const { title, text, continue: toContinue, toAccount } = TEXTS[language].signUp.verified;
  const isGoing = returnToMember(returnTo) !== undefined;
  const more = isGoing ? wideLink(site.path("/login", returnTo), toContinue) : wideLink(site.path("/account"), toAccount);
  return noticeView(site, language, { tone: "good", title, text: text(email), more });
}

/** After a verification link that is no longer valid. @param token of the form that asks for another mail */
export function staleLinkView(site: Site, language: Language, token: string): HostedPage {
  const { signIn, staleLink } = TEXTS[language].signUp;
  const { title, text, email, sendAgain } = staleLink;
  const more = html`${wideLink(site.path("/login"), signIn)}
<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token)}
${field(language, [], { name: "email", label: email, type: "email", autocomplete: "email" })}
<button class="button button-quiet button-wide" type="submit">${sendAgain}</button>
</form>`;
  return noticeView(site, language, { tone: "bad", title, text, more });
}

/** Where another verification mail could not be asked for. */
function resendView(site: Site, language: Language, { token, returnTo, email, faults }: FormPage): HostedPage {
  const { staleLink, checkMail } = TEXTS[language].signUp;
  return formView(site, language, {
    title: staleLink.sendAgain,
    action: site.path("/signup/resend"),
    members: hidden(token, returnTo),
    fields: [{ name: "email", label: staleLink.email, type: "email", autocomplete: "email", value: email, autofocus: true }],
    faults,
    submit: staleLink.sendAgain,
    below: html`<a href="${site.path("/login", returnTo)}">${checkMail.toSignIn}</a>`,
  });
}

interface CheckMail extends Omit<FormPage, "faults"> {
  readonly email: string;
  /** Whether another mail was just asked for. */
  readonly again: boolean;
}

/** After signing up: a mail is on its way. */
function checkMailView(site: Site, language: Language, { email, token, returnTo, again }: CheckMail): HostedPage {
  const texts = TEXTS[language].signUp.checkMail;
  const more = html`${wideLink(site.path("/login", returnTo), texts.toSignIn)}
${
  !again &&
  html`<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token, returnTo)}
<input type="hidden" name="email" value="${email}">
<p>${texts.noMessage}</p>
<button class="button button-quiet button-wide" type="submit">${texts.sendAgain}</button>
</form>`
}`;
  // Any address can be typed to ask for another mail, and the page does not say whether it has an account.
  return noticeView(site, language, { tone: "mail", title: texts.title, text: (again ? texts.sentAgain : texts.text)(email), more });
}
