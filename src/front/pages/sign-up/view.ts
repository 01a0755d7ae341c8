import type { SignUpPolicy } from "../../../accounts/sign-up-policy.ts";
import { catalogue, type Language, shownList } from "../../texts/language.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type FormPage, field, hidden, html, type Markup, type ReturnTo, returnToMembers, type Site } from "../views/layout.ts";

interface SignUpPage extends FormPage {
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  /** The domains of addresses that may sign up; none: all. */
  readonly domains: readonly string[];
}

export function signUpView(site: Site, language: Language, page: SignUpPage): Markup {
  const { token, returnTo, email, firstName, lastName, faults, domains } = page;
  const texts = signUpTexts[language];
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
      [
        { name: "firstName", label: texts.firstName, type: "text", autocomplete: "given-name", value: firstName, optional: true },
        { name: "lastName", label: texts.lastName, type: "text", autocomplete: "family-name", value: lastName, optional: true },
      ],
    ],
    faults,
    submit: texts.submit,
    below: html`${texts.haveAccount} <a href="${site.path("/login", returnTo)}">${texts.signIn}</a>`,
  });
}

/** Where users cannot sign up without an operator. */
export function noSignUpView(site: Site, language: Language, { mode }: Pick<SignUpPolicy, "mode">, returnTo: ReturnTo): Markup {
  const { noSignUp, signIn } = signUpTexts[language];
  const { title, invited, closed } = noSignUp;
  const more = wideLink(site.path("/login", returnTo), signIn);
  return noticeView(site, language, { tone: "plain", title, text: (mode === "invited" ? invited : closed)(site.host), more });
}

/** After a verification link was used. @param returnTo where the user was going in this browser before they read the mail */
export function verifiedView(site: Site, language: Language, email: string, returnTo: ReturnTo): Markup {
  const { title, text, continue: toContinue, toAccount } = signUpTexts[language].verified;
  const isGoing = returnToMembers(returnTo).length > 0;
  const more = isGoing ? wideLink(site.path("/login", returnTo), toContinue) : wideLink(site.path("/account"), toAccount);
  return noticeView(site, language, { tone: "good", title, text: text(email), more });
}

/** After a verification link that is no longer valid. @param token of the form that asks for another mail */
export function staleLinkView(site: Site, language: Language, token: string): Markup {
  const { signIn, staleLink } = signUpTexts[language];
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
export function checkMailView(site: Site, language: Language, { email, token, returnTo, again }: CheckMail): Markup {
  const texts = signUpTexts[language].checkMail;
  const more = html`${wideLink(site.path("/login", returnTo), texts.toSignIn)}
<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token, returnTo)}
<input type="hidden" name="email" value="${email}">
${
  again
    ? html`<p role="status">${texts.sentAgain}</p>`
    : html`<p>${texts.noMessage}</p>
<button class="button button-quiet button-wide" type="submit">${texts.sendAgain}</button>`
}
</form>`;
  return noticeView(site, language, { tone: "mail", title: texts.title, text: texts.text(email), more });
}

const signUpTexts = catalogue({
  en: {
    title: "Create your account",
    lead: "One account for every application and agent that acts for you.",
    email: "E-mail address",
    password: "Password",
    passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
    firstName: "First name",
    lastName: "Last name",
    submit: "Create account",
    haveAccount: "Already have an account?",
    signIn: "Sign in",
    domains: (list: string) => `Use an address at ${list}.`,
    /** Where SIGN_UP does not let users open accounts by themselves. */
    noSignUp: {
      title: "You cannot sign up here by yourself",
      invited: (host: string) =>
        `An account at ${host} needs an invitation. Ask an administrator of ${host} to send you one by mail. If you have an account already, sign in.`,
      closed: (host: string) =>
        `The administrators of ${host} create all accounts themselves. Ask one of them for yours. If you have an account already, sign in.`,
    },
    /** After a verification link was used. */
    verified: {
      title: "Your address is confirmed",
      text: (email: string) => `${email} belongs to your account. You can close this page or continue.`,
      continue: "Continue",
      toAccount: "Go to your account",
    },
    /** After a verification link that is no longer valid. */
    staleLink: {
      title: "This link no longer works",
      text: "It was already used, replaced by a newer one, or is more than a day old. If your address is confirmed, it stays confirmed.",
      email: "E-mail address",
      sendAgain: "Send a new mail",
    },
    /** After signing up. */
    checkMail: {
      title: "Check your mail",
      text: (email: string) => `A message with a link is on its way to ${email}. Open the link within 24 hours to confirm the address.`,
      toSignIn: "Continue to sign in",
      sentAgain: "A new message is on its way.",
      /** Before the button that asks for another mail. */
      noMessage: "No message after a few minutes? Check your spam folder, or send it again.",
      sendAgain: "Send it again",
    },
  },
  de: {
    title: "Konto anlegen",
    lead: "Ein Konto für alle Anwendungen und Agenten, die für Sie handeln.",
    email: "E-Mail-Adresse",
    password: "Passwort",
    passwordHint: "Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.",
    firstName: "Vorname",
    lastName: "Nachname",
    submit: "Konto anlegen",
    haveAccount: "Schon ein Konto?",
    signIn: "Anmelden",
    domains: (list) => `Verwenden Sie eine Adresse bei ${list}.`,
    noSignUp: {
      title: "Sie können sich hier nicht selbst registrieren",
      invited: (host) =>
        `Für ein Konto bei ${host} brauchen Sie eine Einladung. Bitten Sie die Administration von ${host}, Ihnen eine per Mail zu senden. Wenn Sie schon ein Konto haben, melden Sie sich an.`,
      closed: (host) =>
        `Die Administration von ${host} legt alle Konten selbst an. Bitten Sie dort um Ihres. Wenn Sie schon ein Konto haben, melden Sie sich an.`,
    },
    verified: {
      title: "Ihre Adresse ist bestätigt",
      text: (email: string) => `${email} gehört zu Ihrem Konto. Sie können diese Seite schließen oder weitermachen.`,
      continue: "Weiter",
      toAccount: "Zu Ihrem Konto",
    },
    staleLink: {
      title: "Dieser Link gilt nicht mehr",
      text: "Er wurde schon benutzt, durch einen neueren ersetzt oder ist älter als einen Tag. Eine bestätigte Adresse bleibt bestätigt.",
      email: "E-Mail-Adresse",
      sendAgain: "Neue Nachricht senden",
    },
    checkMail: {
      title: "Sehen Sie in Ihr Postfach",
      text: (email) =>
        `Eine Nachricht mit einem Link ist unterwegs an ${email}. Öffnen Sie den Link innerhalb von 24 Stunden, um die Adresse zu bestätigen.`,
      toSignIn: "Weiter zur Anmeldung",
      sentAgain: "Eine neue Nachricht ist unterwegs.",
      noMessage: "Nach einigen Minuten keine Nachricht? Prüfen Sie den Spam-Ordner, oder senden Sie sie erneut.",
      sendAgain: "Erneut senden",
    },
  },
});
