import type { Language } from "../../texts/language.ts";
import { noticesTexts } from "../../texts/notices.ts";
import { html, type Markup, type Part } from "../html.ts";
import { type ReturnTo, returnToMembers } from "../return-to.ts";
import type { Site } from "../site.ts";
import { field, hidden, layout } from "./layout.ts";

export interface Notice {
  readonly tone: "good" | "bad" | "plain" | "mail";
  readonly title: string;
  readonly text: string;
  readonly more?: Part;
  /** What whoever is asked for help can find the case by: the standards' word for it, and the id of the request. */
  readonly support?: { readonly code: string; readonly requestId: string; readonly description?: string | undefined };
}

/** A page that says one thing. */
export const noticeView = (site: Site, language: Language, { tone, title, text, more, support }: Notice): Markup =>
  layout(
    site,
    { language, title },
    html`<section class="card notice notice-${tone}">
<span class="seal" aria-hidden="true"></span>
<h1>${title}</h1>
<p class="lead">${text}</p>
${more}
</section>
${support && html`<p class="support">${noticesTexts[language].forSupport} <span class="host">${support.code} ${support.requestId}</span></p>`}
${support?.description !== undefined && html`<p class="support" lang="en">${support.description}</p>`}`,
  );

/** A link that is the next step. */
export const wideLink = (path: string, words: string): Markup => html`<a class="button button-wide" href="${path}">${words}</a>`;

/** After a verification link was used. @param way where the person was going in this browser before she read her mail */
export function verifiedView(site: Site, language: Language, email: string, way: ReturnTo): Markup {
  const { title, text, goOn, toAccount } = noticesTexts[language].verified;
  const isGoing = returnToMembers(way).length > 0;
  const more = isGoing ? wideLink(site.path("/login", way), goOn) : wideLink(site.path("/account"), toAccount);
  return noticeView(site, language, { tone: "good", title, text: text(email), more });
}

/** After a verification link that is no longer good. @param token of the form that asks for another mail */
export function staleLinkView(site: Site, language: Language, token: string): Markup {
  const { title, text, signIn, email, again } = noticesTexts[language].staleLink;
  const more = html`${wideLink(site.path("/login"), signIn)}
<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token)}
${field(language, { name: "email", label: email, type: "email", autocomplete: "email" })}
<button class="button button-quiet button-wide" type="submit">${again}</button>
</form>`;
  return noticeView(site, language, { tone: "bad", title, text, more });
}

export interface CheckMail {
  readonly email: string;
  readonly token: string;
  /** Where the person is going. */
  readonly way: ReturnTo;
  /** Whether another mail was just asked for. */
  readonly again: boolean;
}

/** After signing up: the mail is on its way, and one can go on. */
export function checkMailView(site: Site, language: Language, { email, token, way, again }: CheckMail): Markup {
  const texts = noticesTexts[language].checkMail;
  const more = html`${wideLink(site.path("/login", way), texts.toSignIn)}
<form method="post" action="${site.path("/signup/resend")}" class="aside-form">
${hidden(token, way)}
<input type="hidden" name="email" value="${email}">
${
  again
    ? html`<p role="status">${texts.sentAgain}</p>`
    : html`<p>${texts.nothingThere}</p>
<button class="button button-quiet button-wide" type="submit">${texts.sendAgain}</button>`
}
</form>`;
  return noticeView(site, language, { tone: "mail", title: texts.title, text: texts.text(email), more });
}

/** After signing out. */
export function signedOutView(site: Site, language: Language): Markup {
  const { title, text, signIn } = noticesTexts[language].signedOut;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/login"), signIn) });
}
