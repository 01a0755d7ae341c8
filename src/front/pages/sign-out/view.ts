import type { Language } from "../../texts/language.ts";
import { html, type Markup } from "../html.ts";
import type { Site } from "../site.ts";
import { hidden, layout } from "../views/layout.ts";
import { noticeView, wideLink } from "../views/notice.ts";
import { signOutTexts } from "./texts.ts";

/** Asks before signing out: a link on another site must not sign the user out. */
export function signOutView(site: Site, language: Language, { token, email }: Readonly<Record<"token" | "email", string>>): Markup {
  const texts = signOutTexts[language];
  return layout(
    site,
    { language, title: texts.title },
    html`<section class="card">
<h1>${texts.question}</h1>
<p class="lead">${texts.signedInAs} <strong>${email}</strong>. ${texts.accessStays}</p>
<form method="post" action="${site.path("/logout")}" class="stack">
${hidden(token)}
<button class="button button-wide" type="submit">${texts.submit}</button>
</form>
</section>
<p class="below"><a href="${site.path("/account")}">${texts.stay}</a></p>`,
  );
}

/** After a sign-out request of an application that cannot be verified: the user stays signed in and is not redirected. */
export function badLogoutRequestView(site: Site, language: Language): Markup {
  const { title, text, signOut } = signOutTexts[language].badRequest;
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/logout"), signOut) });
}

export function signedOutView(site: Site, language: Language): Markup {
  const { title, text, signIn } = signOutTexts[language].signedOut;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/login"), signIn) });
}
