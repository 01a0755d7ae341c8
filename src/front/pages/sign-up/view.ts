import type { SignUpPolicy } from "../../../accounts/sign-up-policy.ts";
import { shownList } from "../../../texts/format.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type FormPage, field, type HostedPage, hidden, html, type ReturnTo, returnToMember, type Site } from "../views/layout.ts";

interface SignUpPage extends FormPage {
  /** The domains of addresses that may sign up; none: all. */
  readonly domains: readonly string[];
}

export function signUpView(site: Site, language: Language, page: SignUpPage): HostedPage {
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
export function noSignUpView(site: Site, language: Language, { mode }: Pick<SignUpPolicy, "mode">, returnTo: ReturnTo): HostedPage {
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

interface CheckMail extends Omit<FormPage, "faults"> {
  readonly email: string;
  /** Whether another mail was just asked for. */
  readonly again: boolean;
}

/** After signing up: a mail is on its way. */
export function checkMailView(site: Site, language: Language, { email, token, returnTo, again }: CheckMail): HostedPage {
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
