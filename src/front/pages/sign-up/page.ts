import { type NewAccount, registerOnce, resendVerification } from "../../../accounts/registration.ts";
import { signInNewcomer } from "../../../accounts/sign-in.ts";
import { hasSignUp, needsProof } from "../../../accounts/sign-up-policy.ts";
import { shownList } from "../../../texts/languages.ts";
import { assertShape, EmailBody, RegisterBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { sendRedirect } from "../../http/answers.ts";
import {
  beginPendingAction,
  browserCaller,
  browserToken,
  doneOf,
  type FormHandlers,
  failedAccountForm,
  failedForm,
  formFor,
  pathFrom,
  queryForm,
  returnToOf,
  returnToStarted,
  startBrowserSession,
  type Visit,
} from "../kit.ts";
import { sendForm, sendNotice, wideLink } from "../views/cards.ts";
import { type FailedForm, field, hidden, html, type ReturnTo, returnToMember } from "../views/layout.ts";
import { ACCOUNT_START } from "../views/sections.ts";

const purpose = (requestId: string | undefined) => `sign-up ${requestId ?? ""}`;
/** The purpose of the token in a form that asks for another verification mail. */
const RESEND = "resend";

function show(visit: Visit, returnTo: ReturnTo, value?: string, failed: FailedForm = {}) {
  const { ports, site, language } = visit;
  const { signUp: texts, words } = visit.texts;
  const { mode, domains } = ports.signUpPolicy;
  const toSignIn = site.path("/login", returnTo);
  if (!hasSignUp(ports.signUpPolicy)) {
    const { title, invited, closed } = texts.noSignUp;
    const text = (mode === "invited" ? invited : closed)(site.host);
    return sendNotice(visit, { tone: "plain", title, text, more: wideLink(toSignIn, words.signIn) }, 403);
  }
  const autofocus = failed.faults === undefined;
  const hint = domains.length === 0 ? undefined : texts.domains(shownList(language, domains));
  sendForm(visit, failed, {
    title: texts.title,
    lead: texts.lead,
    action: site.path("/signup"),
    members: hidden(browserToken(visit, purpose(returnTo.requestId)), returnTo),
    fields: [
      { name: "email", label: words.email, type: "email", autocomplete: "username", value, autofocus, hint },
      { name: "password", label: words.password, type: "password", autocomplete: "new-password", hint: words.passwordHint },
    ],
    submit: texts.submit,
    below: html`${texts.haveAccount} <a href="${toSignIn}">${words.signIn}</a>`,
  });
}

export const signUpPage: FormHandlers = {
  GET: (visit) => show(visit, returnToOf(visit.site, queryForm(visit))),
  async POST(visit) {
    const { ctx, ports, site } = visit;
    const form = await formFor(visit, (sent) => purpose(sent.get("request")));
    const returnTo = returnToOf(site, form);
    if (!hasSignUp(ports.signUpPolicy)) return show(visit, returnTo);
    const email = form.get("email");
    try {
      const signUp = assertShape(RegisterBody, { email: email ?? "", password: form.get("password") });
      const account = await registerOnce(signUp, ports, visit.caller);
      await beginPendingAction(visit, account.user.email, returnTo);
      if (!needsProof(account.user, ports.signUpPolicy)) return await enter(visit, account, returnTo);
    } catch (error) {
      return show(visit, returnTo, email, await failedAccountForm(visit, error, form));
    }
    sendRedirect(ctx, site.path("/signup/sent", returnTo));
  },
};

/** Signs in a user who has just signed up, and continues where they were going; the mail with the link may be read later. */
async function enter(visit: Visit, account: NewAccount, returnTo: ReturnTo): Promise<void> {
  const { ports, site } = visit;
  const session = await signInNewcomer(account, "sign_up", ports, browserCaller(visit));
  await startBrowserSession(visit, session);
  const joined = returnToMember(returnTo) === undefined ? site.path(donePath(visit, ACCOUNT_START, "joined")) : undefined;
  sendRedirect(visit.ctx, pathFrom(visit, session, returnTo, joined));
}

const AGAIN = "again";

/** GET /signup/sent: the mail is on its way. A separate page, so that reloading it does not sign up again. */
export const signUpSentPage = (visit: Visit) => {
  const { site } = visit;
  const [returnTo, email] = [returnToOf(site, queryForm(visit)), visit.cookies.pendingAction(visit.ctx)?.get("email")];
  if (email === undefined) return sendRedirect(visit.ctx, site.path("/login", returnTo));
  const again = doneOf(visit) === AGAIN;
  const token = browserToken(visit, RESEND);
  const { checkMail } = visit.texts.signUp;
  const form = html`<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token, returnTo)}
<input type="hidden" name="email" value="${email}">
<p>${checkMail.noMessage}</p>
<button class="button button-quiet button-wide" type="submit">${checkMail.sendAgain}</button>
</form>`;
  // Any address can be typed to ask for another mail, and the page does not say whether it has an account.
  sendNotice(visit, {
    tone: "mail",
    title: checkMail.title,
    text: (again ? checkMail.sentAgain : checkMail.text)(email),
    more: html`${wideLink(site.path("/login", returnTo), checkMail.toSignIn)}
${!again && form}`,
  });
};

/** POST /signup/resend: another verification mail after a sign-up. */
export const resendPage = async (visit: Visit) => {
  const { ports, site } = visit;
  const form = await formFor(visit, RESEND);
  const [email, named] = [form.get("email") ?? "", returnToOf(site, form)];
  // The page of an expired link does not know the destination.
  const returnTo = returnToMember(named) !== undefined ? named : await returnToStarted(visit);
  try {
    await resendVerification(assertShape(EmailBody, { email }).email, ports, visit.caller);
  } catch (error) {
    const { staleLink, checkMail } = visit.texts.signUp;
    return sendForm(visit, failedForm(visit, error, ["email"]), {
      title: staleLink.sendAgain,
      action: site.path("/signup/resend"),
      members: hidden(browserToken(visit, RESEND), returnTo),
      fields: [{ name: "email", label: visit.texts.words.email, type: "email", autocomplete: "email", value: email, autofocus: true }],
      submit: staleLink.sendAgain,
      below: html`<a href="${site.path("/login", returnTo)}">${checkMail.toSignIn}</a>`,
    });
  }
  await beginPendingAction(visit, email, returnTo);
  sendRedirect(visit.ctx, site.path(donePath(visit, "/signup/sent", AGAIN), returnTo));
};

/** After a verification link was used: leads on to where the user was going in this browser before they read the mail. */
export async function sendVerified(visit: Visit, email: string): Promise<void> {
  const [{ site }, returnTo] = [visit, await returnToStarted(visit)];
  const { verified } = visit.texts.signUp;
  const isGoing = returnToMember(returnTo) !== undefined;
  const more = isGoing
    ? wideLink(site.path("/login", returnTo), visit.texts.words.continue)
    : wideLink(site.path("/account"), visit.texts.words.toAccount);
  sendNotice(visit, { tone: "good", title: verified.title, text: verified.text(email), more });
}

/** After a verification link that is no longer valid: a form that asks for another mail. */
export function sendStaleLink(visit: Visit): void {
  const { site, language } = visit;
  const { signUp, words } = visit.texts;
  const { text, sendAgain } = signUp.staleLink;
  const more = html`${wideLink(site.path("/login"), words.signIn)}
<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(browserToken(visit, RESEND))}
${field(language, [], { name: "email", label: words.email, type: "email", autocomplete: "email" })}
<button class="button button-quiet button-wide" type="submit">${sendAgain}</button>
</form>`;
  sendNotice(visit, { tone: "bad", title: words.staleLink, text, more }, 400);
}
