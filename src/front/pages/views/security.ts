import type { Language } from "../../texts/language.ts";
import { securityTexts } from "../../texts/security.ts";
import { html, type Markup } from "../html.ts";
import type { Site } from "../site.ts";
import { accountFrame } from "./account-nav.ts";
import { hidden } from "./layout.ts";

export interface SecurityPage {
  readonly token: string;
}

export function securityView(site: Site, language: Language, { token }: SecurityPage): Markup {
  const texts = securityTexts[language];
  return accountFrame(
    site,
    { language, path: "/account/security", title: texts.title },
    html`<section class="card" aria-labelledby="everywhere">
<h2 id="everywhere">${texts.everywhere}</h2>
<p>${texts.everywhereText}</p>
<form method="post" action="${site.path("/logout")}">
${hidden(token)}
<button class="button button-deny" type="submit" name="everywhere" value="yes">${texts.everywhereSubmit}</button>
</form>
</section>`,
  );
}
