import { type NewAccount, registerOnce, resendVerification } from "../../../accounts/registration.ts";
import { signInNewcomer } from "../../../accounts/sign-in.ts";
import { hasSignUp, needsProof } from "../../../accounts/sign-up-policy.ts";
import { type Language, shownList, type Texts } from "../../../texts/languages.ts";
import { assertShape, EmailBody, RegisterBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import { formBody } from "../../http/body.ts";
import { callerOf } from "../../http/caller.ts";
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
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { type FailedForm, field, hidden, html, type Markup, type ReturnTo, returnToMember, type Site } from "../views/layout.ts";
import { ACCOUNT_START } from "../views/sections.ts";

const purpose = (requestId: string | undefined) => `sign-up ${requestId ?? ""}`;
/** The purpose of the token in a form that asks for another verification mail. */
export const RESEND = "resend";

function show(kit: PageKit, ctx: FrontContext, returnTo: ReturnTo, value?: string, failed: FailedForm = {}) {
  const { ports, site } = kit;
  const { mode, domains } = ports.signUpPolicy;
  const toSignIn = site.path("/login", returnTo);
  if (!hasSignUp(ports.signUpPolicy)) {
    const words = ({ signUp: { noSignUp, signIn } }: Texts) => ({
      title: noSignUp.title,
      text: (mode === "invited" ? noSignUp.invited : noSignUp.closed)(site.host),
      more: wideLink(toSignIn, signIn),
    });
    return sendNotice(ctx, site, "plain", words, 403);
  }
  const [token, autofocus] = [browserToken(kit, ctx, purpose(returnTo.requestId)), failed.faults === undefined];
  sendForm(ctx, site, failed, ({ signUp: texts }, language) => {
    const hint = domains.length === 0 ? undefined : texts.domains(shownList(language, domains));
    return {
      title: texts.title,
      lead: texts.lead,
      action: site.path("/signup"),
      members: hidden(token, returnTo),
      fields: [
        { name: "email", label: texts.email, type: "email", autocomplete: "username", value, autofocus, hint },
        { name: "password", label: texts.password, type: "password", autocomplete: "new-password", hint: texts.passwordHint },
      ],
      submit: texts.submit,
      below: html`${texts.haveAccount} <a href="${toSignIn}">${texts.signIn}</a>`,
    };
  });
}

export function signUpPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, guard, site } = kit;
  return {
    GET: (ctx) => show(kit, ctx, returnToOf(site, queryForm(ctx))),
    async POST(ctx) {
      const form = await formBody(ctx);
      const returnTo = returnToOf(site, form);
      guard.assert(ctx, form, purpose(returnTo.requestId));
      if (!hasSignUp(ports.signUpPolicy)) return show(kit, ctx, returnTo);
      const email = form.get("email");
      try {
        const signUp = assertShape(RegisterBody, { email: email ?? "", password: form.get("password") });
        const account = await registerOnce(signUp, ports, callerOf(ctx));
        await beginPendingAction(kit, ctx, account.user.email, returnTo);
        if (!needsProof(account.user, ports.signUpPolicy)) return await enter(kit, ctx, account, returnTo);
      } catch (error) {
        return show(kit, ctx, returnTo, email, await failedAccountForm(ctx, error, form));
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
    const token = browserToken(kit, ctx, RESEND);
    // Any address can be typed to ask for another mail, and the page does not say whether it has an account.
    sendNotice(ctx, site, "mail", ({ signUp: { checkMail } }) => ({
      title: checkMail.title,
      text: (again ? checkMail.sentAgain : checkMail.text)(email),
      more: html`${wideLink(site.path("/login", returnTo), checkMail.toSignIn)}
${!again && againForm(site, checkMail, token, returnTo, email)}`,
    }));
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
      return sendForm(ctx, site, failedForm(ctx, error, ["email"]), ({ signUp: { staleLink, checkMail } }) => ({
        title: staleLink.sendAgain,
        action: site.path("/signup/resend"),
        members: hidden(browserToken(kit, ctx, RESEND), returnTo),
        fields: [{ name: "email", label: staleLink.email, type: "email", autocomplete: "email", value: email, autofocus: true }],
        submit: staleLink.sendAgain,
        below: html`<a href="${site.path("/login", returnTo)}">${checkMail.toSignIn}</a>`,
      }));
    }
    await beginPendingAction(kit, ctx, email, returnTo);
    sendRedirect(ctx, site.path(donePath(kit, ctx, "/signup/sent", AGAIN), returnTo));
  };

/** After a verification link was used. @param returnTo where the user was going in this browser before they read the mail */
export const sendVerified = (ctx: FrontContext, site: Site, email: string, returnTo: ReturnTo): void =>
  sendNotice(ctx, site, "good", ({ signUp: { verified } }) => {
    const isGoing = returnToMember(returnTo) !== undefined;
    const more = isGoing ? wideLink(site.path("/login", returnTo), verified.continue) : wideLink(site.path("/account"), verified.toAccount);
    return { title: verified.title, text: verified.text(email), more };
  });

/** After a verification link that is no longer valid. @param token of the form that asks for another mail */
export function sendStaleLink(ctx: FrontContext, site: Site, token: string): void {
  const words = ({ signUp: { signIn, staleLink } }: Texts, language: Language) => ({
    ...staleLink,
    more: html`${wideLink(site.path("/login"), signIn)}
<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token)}
${field(language, [], { name: "email", label: staleLink.email, type: "email", autocomplete: "email" })}
<button class="button button-quiet button-wide" type="submit">${staleLink.sendAgain}</button>
</form>`,
  });
  sendNotice(ctx, site, "bad", words, 400);
}

const againForm = (
  site: Site,
  texts: Texts["signUp"]["checkMail"],
  token: string,
  returnTo: ReturnTo,
  email: string,
): Markup => html`<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token, returnTo)}
<input type="hidden" name="email" value="${email}">
<p>${texts.noMessage}</p>
<button class="button button-quiet button-wide" type="submit">${texts.sendAgain}</button>
</form>`;
