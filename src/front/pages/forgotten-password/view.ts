import { type Language, TEXTS } from "../../../texts/languages.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { accountName, type FormPage, type HostedPage, hidden, html, type ReturnTo, type Site } from "../views/layout.ts";

export function forgotView(site: Site, language: Language, { token, returnTo, email, faults }: FormPage): HostedPage {
  const texts = TEXTS[language].forgottenPassword;
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
export function forgotSentView(site: Site, language: Language, returnTo: ReturnTo): HostedPage {
  const { sent, toSignIn } = TEXTS[language].forgottenPassword;
  const more = html`${wideLink(site.path("/login", returnTo), toSignIn)}
<p class="small after-form">${sent.nothingThere}</p>`;
  return noticeView(site, language, { tone: "mail", title: sent.title, text: sent.text, more });
}

export interface ResetPage extends Omit<FormPage, "returnTo"> {
  /** The token of the link. */
  readonly link: string;
  readonly email: string;
}

export function resetView(site: Site, language: Language, { token, link, email, faults }: ResetPage): HostedPage {
  const { title, lead, password: label, passwordHint: hint, submit } = TEXTS[language].forgottenPassword.choose;
  return formView(site, language, {
    title,
    lead: lead(email),
    action: site.path("/reset"),
    members: html`${hidden(token)}<input type="hidden" name="token" value="${link}">${accountName(email)}`,
    fields: [{ name: "password", label, type: "password", autocomplete: "new-password", hint, autofocus: true }],
    faults,
    submit,
  });
}

export function staleResetView(site: Site, language: Language, returnTo: ReturnTo): HostedPage {
  const { title, text, again, signIn } = TEXTS[language].forgottenPassword.stale;
  const more = html`${wideLink(site.path("/forgot", returnTo), again)}
<p class="small after-form"><a href="${site.path("/login", returnTo)}">${signIn}</a></p>`;
  return noticeView(site, language, { tone: "bad", title, text, more });
}

export function resetDoneView(site: Site, language: Language, returnTo: ReturnTo): HostedPage {
  const { title, text, signIn } = TEXTS[language].forgottenPassword.changed;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/login", returnTo), signIn) });
}
