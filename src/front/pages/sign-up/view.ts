import type { Language } from "../../texts/language.ts";
import { html, type Markup } from "../html.ts";
import type { ReturnTo } from "../return-to.ts";
import type { Site } from "../site.ts";
import { type Fault, faultOf, faultSummary, field, formTitle, hidden, layout } from "../views/layout.ts";
import { signUpTexts } from "./texts.ts";

export interface SignUpPage {
  readonly token: string;
  /** Where the person is going. */
  readonly way: ReturnTo;
  readonly email?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  readonly faults: readonly Fault[];
}

export function signUpView(site: Site, language: Language, { token, way, email, firstName, lastName, faults }: SignUpPage): Markup {
  const texts = signUpTexts[language];
  const error = (name: string) => faultOf(faults, name);
  return layout(
    site,
    { language, title: formTitle(language, texts.title, faults) },
    html`<section class="card">
<h1>${texts.title}</h1>
<p class="lead">${texts.lead}</p>
${faultSummary(language, faults)}
<form method="post" action="${site.path("/signup")}" class="stack" novalidate>
${hidden(token, way)}
${field(language, { name: "email", label: texts.email, type: "email", autocomplete: "username", value: email, error: error("email"), autofocus: faults.length === 0 })}
${field(language, { name: "password", label: texts.password, type: "password", autocomplete: "new-password", hint: texts.passwordHint, error: error("password") })}
<div class="pair">
${field(language, { name: "firstName", label: texts.firstName, type: "text", autocomplete: "given-name", value: firstName, error: error("firstName"), optional: true })}
${field(language, { name: "lastName", label: texts.lastName, type: "text", autocomplete: "family-name", value: lastName, error: error("lastName"), optional: true })}
</div>
<button class="button button-wide" type="submit">${texts.submit}</button>
</form>
</section>
<p class="below">${texts.haveAccount} <a href="${site.path("/login", way)}">${texts.signIn}</a></p>`,
  );
}
