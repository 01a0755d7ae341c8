import type { Language } from "../../texts/language.ts";
import { html, type Markup } from "../html.ts";
import type { ReturnTo, Site } from "../site.ts";
import { clientLine, type ShownClient } from "../views/client.ts";
import { type Fault, faultOf, faultSummary, field, formTitle, hidden, layout } from "../views/layout.ts";
import { signInTexts } from "./texts.ts";

export interface SignInPage {
  readonly token: string;
  /** Where the person is going. */
  readonly way: ReturnTo;
  /** The application that waits for the person, if one does. */
  readonly client: ShownClient | undefined;
  readonly email: string | undefined;
  readonly faults: readonly Fault[];
  /** Whether somebody is signed in already and only has to prove it anew. */
  readonly again: boolean;
}

export function signInView(site: Site, language: Language, { token, way, client, email, faults, again }: SignInPage): Markup {
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
${hidden(token, way)}
${field(language, { name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, error: faultOf(faults, "email"), autofocus: email === undefined })}
${field(language, { name: "password", label: texts.password, type: "password", autocomplete: "current-password", error: faultOf(faults, "password"), autofocus: email !== undefined })}
<button class="button button-wide" type="submit">${texts.submit}</button>
</form>
<p class="small centred after-form"><a href="${site.path("/forgot", way)}">${texts.forgotten}</a></p>
</section>
${!again && html`<p class="below">${texts.newHere} <a href="${site.path("/signup", way)}">${texts.createAccount}</a></p>`}`,
  );
}
