import { catalogue, type Language } from "../../texts/language.ts";
import { type FormPage, faultOf, faultSummary, field, formTitle, hidden, html, layout, type Markup, type Site } from "../views/layout.ts";
import { clientLine, type ShownClient } from "../views/words.ts";

export interface SignInPage extends FormPage {
  /** The application that waits for the user, if there is one. */
  readonly client: ShownClient | undefined;
  /** Whether a user is already signed in and has to confirm it. */
  readonly again: boolean;
}

export function signInView(site: Site, language: Language, { token, returnTo, client, email, faults, again }: SignInPage): Markup {
  const texts = signInTexts[language];
  const title = again ? texts.titleAgain : texts.title;
  return layout(
    site,
    { language, title: formTitle(language, title, faults) },
    html`<section class="card">
<h1>${title}</h1>
${client && html`<p class="lead">${texts.toContinueTo} ${clientLine(language, client)}</p>`}
${faultSummary(language, faults)}
<form method="post" action="${site.path("/login")}" class="stack" novalidate>
${hidden(token, returnTo)}
${field(language, { name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, error: faultOf(faults, "email"), autofocus: email === undefined })}
${field(language, { name: "password", label: texts.password, type: "password", autocomplete: "current-password", error: faultOf(faults, "password"), autofocus: email !== undefined })}
<button class="button button-wide" type="submit">${texts.submit}</button>
</form>
<p class="small centred after-form"><a href="${site.path("/forgot", returnTo)}">${texts.forgotten}</a></p>
</section>
${!again && html`<p class="below">${texts.newHere} <a href="${site.path("/signup", returnTo)}">${texts.createAccount}</a></p>`}`,
  );
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
