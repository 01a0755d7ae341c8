import { catalogue, type Language } from "../../texts/language.ts";
import { noticeView, wideLink } from "../views/cards.ts";
import { accountFrame, type Fault, faultSummary, field, hidden, html, type Markup, type Site } from "../views/layout.ts";
import { shownName } from "../views/words.ts";

export interface DeleteAccountPage {
  readonly token: string;
  /** Names of the clients that go with the account. */
  readonly clients: readonly string[];
  readonly faults: readonly Fault[];
}

export function deleteAccountView(site: Site, language: Language, { token, clients, faults }: DeleteAccountPage): Markup {
  const texts = deleteAccountTexts[language];
  return accountFrame(
    site,
    { language, path: "/account/delete", title: texts.title, faults },
    html`<section class="card" aria-labelledby="what">
<h2 id="what">${texts.what}</h2>
<ul class="sentences">${texts.consequences.map((sentence) => html`<li>${sentence}</li>`)}</ul>
${
  clients.length > 0 &&
  html`<p>${texts.clients}</p>
<ul class="sentences">${clients.map((name) => html`<li><bdi>${shownName(language, name)}</bdi></li>`)}</ul>`
}
</section>
<section class="card" aria-labelledby="confirm">
<h2 id="confirm">${texts.confirm}</h2>
${faultSummary(language, faults)}
<form method="post" action="${site.path("/account/delete")}" class="stack" novalidate>
${hidden(token)}
${field(language, faults, { name: "currentPassword", label: texts.currentPassword, type: "password", autocomplete: "current-password" })}
<button class="button button-deny" type="submit">${texts.submit}</button>
</form>
<p class="small after-form"><a href="${site.path("/account")}">${texts.keep}</a></p>
</section>`,
  );
}

export function accountGoneView(site: Site, language: Language): Markup {
  const { title, text, signUp } = deleteAccountTexts[language].gone;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/signup"), signUp) });
}

const deleteAccountTexts = catalogue({
  en: {
    title: "Delete account",
    what: "What happens",
    /** One sentence each. */
    consequences: [
      "You are signed out everywhere.",
      "Applications and agents lose their access: at once where tokens are checked with us, elsewhere within minutes.",
      "Your name, password, sessions, consents and linked identities are deleted. The e-mail address can be used for a new account, which has no connection to this one.",
      "The audit log stays. It names the account by its number and the network addresses it was used from, but neither name nor e-mail address.",
      "This cannot be undone.",
    ],
    /** Before the names of the applications that the user registered. */
    clients: "These applications of yours are deleted with their API keys, and their users lose the access that they allowed:",
    confirm: "Confirm with your password",
    currentPassword: "Password",
    submit: "Delete my account",
    keep: "Keep the account",
    gone: {
      title: "Your account has been deleted",
      text: "We have sent a last message to your e-mail address.",
      signUp: "Create a new account",
    },
  },
  de: {
    title: "Konto löschen",
    what: "Was dann geschieht",
    consequences: [
      "Sie werden überall abgemeldet.",
      "Anwendungen und Agenten verlieren ihren Zugriff: sofort, wo Token bei uns geprüft werden, sonst innerhalb von Minuten.",
      "Ihr Name, Ihr Passwort, Ihre Sitzungen, erteilten Zugriffe und verknüpften Identitäten werden gelöscht. Die E-Mail-Adresse wird frei; ein neues Konto mit ihr hat mit diesem nichts zu tun.",
      "Das Prüfprotokoll bleibt. Es kennt das Konto unter seiner Nummer und die Netzadressen, von denen aus es benutzt wurde, aber weder Namen noch E-Mail-Adresse.",
      "Das lässt sich nicht rückgängig machen.",
    ],
    clients:
      "Diese Anwendungen von Ihnen werden mit ihren API-Schlüsseln gelöscht, und wer sie benutzt, verliert den Zugriff, den er ihnen gegeben hat:",
    confirm: "Bestätigen Sie mit Ihrem Passwort",
    currentPassword: "Passwort",
    submit: "Mein Konto löschen",
    keep: "Konto behalten",
    gone: {
      title: "Ihr Konto wurde gelöscht",
      text: "Eine letzte Nachricht ist an Ihre E-Mail-Adresse unterwegs.",
      signUp: "Neues Konto anlegen",
    },
  },
});
