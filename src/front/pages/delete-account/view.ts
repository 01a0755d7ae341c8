import { type Language, TEXTS } from "../../../texts/languages.ts";
import { accountFrame } from "../views/account-frame.ts";
import { noticeView, wideLink } from "../views/cards.ts";
import { type FormPage, faultSummary, type HostedPage, hidden, html, type Site } from "../views/layout.ts";
import { shownName } from "../views/words.ts";

export interface DeleteAccountPage extends Pick<FormPage, "token" | "faults"> {
  /** The address of the account: after the proof it can be another one than the user came from. */
  readonly email: string;
  /** Names of the clients that go with the account. */
  readonly clients: readonly string[];
}

export function deleteAccountView(site: Site, language: Language, { token, email, clients, faults }: DeleteAccountPage): HostedPage {
  const texts = TEXTS[language].deleteAccount;
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
<p>${TEXTS[language].signOut.signedInAs} <strong>${email}</strong>.</p>
<form method="post" action="${site.path("/account/delete")}" class="stack" novalidate>
${hidden(token)}
<button class="button button-deny" type="submit">${texts.submit}</button>
</form>
<p class="small after-form"><a href="${site.path("/account")}">${texts.keep}</a></p>
</section>`,
  );
}

/** @param mayJoin whether users may open accounts by themselves */
export function accountGoneView(site: Site, language: Language, mayJoin: boolean): HostedPage {
  const { title, text, signUp } = TEXTS[language].deleteAccount.gone;
  return noticeView(site, language, { tone: "good", title, text, more: mayJoin && wideLink(site.path("/signup"), signUp) });
}
