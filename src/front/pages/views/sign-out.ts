import type { Language } from "../../texts/language.ts";
import { signOutTexts } from "../../texts/sign-out.ts";
import { html, type Markup } from "../html.ts";
import type { Site } from "../site.ts";
import { hidden, layout } from "./layout.ts";

export interface SignOutPage {
  readonly token: string;
  readonly email: string;
}

/** Asks before signing out: a link from elsewhere must not do it. */
export function signOutView(site: Site, language: Language, { token, email }: SignOutPage): Markup {
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
