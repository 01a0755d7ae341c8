import { catalogue, type Language } from "../../texts/language.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type FormPage, hidden, html, type Markup, type ReturnTo, type Site } from "../views/layout.ts";

export function forgotView(site: Site, language: Language, { token, returnTo, email, faults }: FormPage): Markup {
  const texts = forgottenPasswordTexts[language];
  return formView(site, language, {
    title: texts.title,
    lead: texts.lead,
    action: site.path("/forgot"),
    members: hidden(token, returnTo),
    fields: [{ name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, autofocus: true }],
    faults,
    submit: texts.submit,
    below: html`<a href="${site.path("/login", returnTo)}">${texts.toSignIn}</a>`,
  });
}

/** After the request for a link, whether or not there is such an account. */
export function forgotSentView(site: Site, language: Language, returnTo: ReturnTo): Markup {
  const { sent, toSignIn } = forgottenPasswordTexts[language];
  const more = html`${wideLink(site.path("/login", returnTo), toSignIn)}
<p class="small after-form">${sent.nothingThere}</p>`;
  return noticeView(site, language, { tone: "mail", title: sent.title, text: sent.text, more });
}

export interface ResetPage extends Omit<FormPage, "returnTo"> {
  /** The token of the link. */
  readonly link: string;
  readonly email: string;
}

export function resetView(site: Site, language: Language, { token, link, email, faults }: ResetPage): Markup {
  const { title, lead, password: label, passwordHint: hint, submit } = forgottenPasswordTexts[language].choose;
  return formView(site, language, {
    title,
    lead: lead(email),
    action: site.path("/reset"),
    members: html`${hidden(token)}<input type="hidden" name="token" value="${link}">`,
    fields: [{ name: "password", label, type: "password", autocomplete: "new-password", hint, autofocus: true }],
    faults,
    submit,
  });
}

export function staleResetView(site: Site, language: Language, returnTo: ReturnTo): Markup {
  const { title, text, again } = forgottenPasswordTexts[language].stale;
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/forgot", returnTo), again) });
}

export function resetDoneView(site: Site, language: Language, returnTo: ReturnTo): Markup {
  const { title, text, signIn } = forgottenPasswordTexts[language].changed;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/login", returnTo), signIn) });
}

const forgottenPasswordTexts = catalogue({
  en: {
    title: "Forgot your password?",
    lead: "Enter the e-mail address of your account. We will send you a link to choose a new password.",
    email: "E-mail address",
    submit: "Send me the link",
    toSignIn: "Back to sign in",
    sent: {
      title: "Check your mail",
      text: "If there is an account with this address, we have sent it a link. The link works once, within 30 minutes.",
      nothingThere: "No message after a few minutes? Check your spam folder, and that this is the address you signed up with.",
    },
    choose: {
      title: "Choose a new password",
      lead: (email: string) => `For the account of ${email}. You will be signed out everywhere.`,
      password: "New password",
      passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
      submit: "Change password",
    },
    stale: {
      title: "This link no longer works",
      text: "It was already used, replaced by a newer one, or is more than 30 minutes old. Nothing was changed.",
      again: "Send a new link",
    },
    changed: {
      title: "Your password has been changed",
      text: "You have been signed out everywhere. Sign in with the new password.",
      signIn: "Sign in",
    },
  },
  de: {
    title: "Passwort vergessen?",
    lead: "Geben Sie die E-Mail-Adresse Ihres Kontos ein. Wir senden Ihnen einen Link, mit dem Sie ein neues Passwort wählen.",
    email: "E-Mail-Adresse",
    submit: "Link senden",
    toSignIn: "Zurück zur Anmeldung",
    sent: {
      title: "Sehen Sie in Ihr Postfach",
      text: "Wenn es ein Konto mit dieser Adresse gibt, haben wir ihr einen Link gesendet. Der Link funktioniert einmal, innerhalb von 30 Minuten.",
      nothingThere:
        "Nach einigen Minuten keine Nachricht? Prüfen Sie den Spam-Ordner und ob Sie sich mit dieser Adresse registriert haben.",
    },
    choose: {
      title: "Wählen Sie ein neues Passwort",
      lead: (email) => `Für das Konto von ${email}. Sie werden überall abgemeldet.`,
      password: "Neues Passwort",
      passwordHint: "Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.",
      submit: "Passwort ändern",
    },
    stale: {
      title: "Dieser Link gilt nicht mehr",
      text: "Er wurde schon benutzt, durch einen neueren ersetzt oder ist älter als 30 Minuten. Es wurde nichts geändert.",
      again: "Neuen Link senden",
    },
    changed: {
      title: "Ihr Passwort wurde geändert",
      text: "Sie wurden überall abgemeldet. Melden Sie sich mit dem neuen Passwort an.",
      signIn: "Anmelden",
    },
  },
});
