import type { Language } from "../../texts/language.ts";
import { html, type Markup } from "../html.ts";
import type { ReturnTo, Site } from "../site.ts";
import { type FormPage, faultOf, faultSummary, field, formTitle, hidden, layout } from "../views/layout.ts";
import { noticeView, wideLink } from "../views/notice.ts";
import { forgottenPasswordTexts } from "./texts.ts";

export function forgotView(site: Site, language: Language, { token, returnTo, email, faults }: FormPage): Markup {
  const texts = forgottenPasswordTexts[language];
  return layout(
    site,
    { language, title: formTitle(language, texts.title, faults) },
    html`<section class="card">
<h1>${texts.title}</h1>
<p class="lead">${texts.lead}</p>
${faultSummary(language, faults)}
<form method="post" action="${site.path("/forgot")}" class="stack" novalidate>
${hidden(token, returnTo)}
${field(language, { name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, error: faultOf(faults, "email"), autofocus: true })}
<button class="button button-wide" type="submit">${texts.submit}</button>
</form>
</section>
<p class="below"><a href="${site.path("/login", returnTo)}">${texts.toSignIn}</a></p>`,
  );
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
  const texts = forgottenPasswordTexts[language].choose;
  return layout(
    site,
    { language, title: formTitle(language, texts.title, faults) },
    html`<section class="card">
<h1>${texts.title}</h1>
<p class="lead">${texts.lead(email)}</p>
${faultSummary(language, faults)}
<form method="post" action="${site.path("/reset")}" class="stack" novalidate>
${hidden(token)}
<input type="hidden" name="token" value="${link}">
${field(language, { name: "password", label: texts.password, type: "password", autocomplete: "new-password", hint: texts.passwordHint, error: faultOf(faults, "password"), autofocus: true })}
<button class="button button-wide" type="submit">${texts.submit}</button>
</form>
</section>`,
  );
}

export function staleResetView(site: Site, language: Language, returnTo: ReturnTo): Markup {
  const { title, text, again } = forgottenPasswordTexts[language].stale;
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/forgot", returnTo), again) });
}

export function resetDoneView(site: Site, language: Language, returnTo: ReturnTo): Markup {
  const { title, text, signIn } = forgottenPasswordTexts[language].changed;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/login", returnTo), signIn) });
}
