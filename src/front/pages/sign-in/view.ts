import { catalogue, type Language } from "../../texts/language.ts";
import { formView } from "../views/cards.ts";
import { type FormPage, hidden, html, type Markup, type Site } from "../views/layout.ts";
import { clientLine, type ShownClient } from "../views/words.ts";

export interface SignInPage extends FormPage {
  /** The application that waits for the user, if there is one. */
  readonly client: ShownClient | undefined;
  /** Whether a user is already signed in and has to confirm it. */
  readonly again: boolean;
  /** Whether users may open accounts by themselves. */
  readonly mayJoin: boolean;
}

export function signInView(site: Site, language: Language, { token, returnTo, client, email, faults, again, mayJoin }: SignInPage): Markup {
  const texts = signInTexts[language];
  return formView(site, language, {
    title: again ? texts.titleAgain : texts.title,
    lead: client && html`${texts.toContinueTo} ${clientLine(language, client)}`,
    action: site.path("/login"),
    members: hidden(token, returnTo),
    fields: [
      { name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, autofocus: email === undefined },
      { name: "password", label: texts.password, type: "password", autocomplete: "current-password", autofocus: email !== undefined },
    ],
    faults,
    submit: texts.submit,
    after: html`<a href="${site.path("/forgot", returnTo)}">${texts.forgotten}</a>`,
    below: again || !mayJoin ? undefined : html`${texts.newHere} <a href="${site.path("/signup", returnTo)}">${texts.createAccount}</a>`,
  });
}

const signInTexts = catalogue({
  en: {
    title: "Sign in",
    /** For a user who is already signed in. */
    titleAgain: "Confirm that it is you",
    /** Before the name of the application that waits. */
    toContinueTo: "to continue to",
    email: "E-mail address",
    password: "Password",
    submit: "Sign in",
    forgotten: "Forgot your password?",
    newHere: "New here?",
    createAccount: "Create an account",
  },
  de: {
    title: "Anmelden",
    titleAgain: "Bestätigen Sie, dass Sie es sind",
    toContinueTo: "und weiter zu",
    email: "E-Mail-Adresse",
    password: "Passwort",
    submit: "Anmelden",
    forgotten: "Passwort vergessen?",
    newHere: "Neu hier?",
    createAccount: "Konto anlegen",
  },
});
