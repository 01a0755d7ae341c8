import { html, type Markup } from "../html.ts";
import type { Site } from "../site.ts";
import { type Fault, faultOf, faultSummary, field, hidden, layout } from "./layout.ts";

export interface SignUpPage {
  readonly token: string;
  readonly requestId: string | undefined;
  readonly email?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  readonly faults: readonly Fault[];
}

export function signUpView(site: Site, { token, requestId, email, firstName, lastName, faults }: SignUpPage): Markup {
  const title = "Create your account";
  return layout(
    site,
    { language: "en", title: faults.length > 0 ? `Error: ${title}` : title },
    html`<section class="card">
<h1>${title}</h1>
<p class="lead">One account for every application and agent that acts for you.</p>
${faultSummary("en", faults)}
<form method="post" action="${site.path("/signup")}" class="stack" novalidate>
${hidden(token, requestId)}
${field("en", { name: "email", label: "E-mail address", type: "email", autocomplete: "username", value: email, error: faultOf(faults, "email"), autofocus: faults.length === 0 })}
${field("en", { name: "password", label: "Password", type: "password", autocomplete: "new-password", hint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.", error: faultOf(faults, "password") })}
<div class="pair">
${field("en", { name: "firstName", label: "First name", type: "text", autocomplete: "given-name", value: firstName, error: faultOf(faults, "firstName"), optional: true })}
${field("en", { name: "lastName", label: "Last name", type: "text", autocomplete: "family-name", value: lastName, error: faultOf(faults, "lastName"), optional: true })}
</div>
<button class="button button-wide" type="submit">Create account</button>
</form>
</section>
<p class="below">You have an account? <a href="${site.path("/login", requestId)}">Sign in</a></p>`,
  );
}
