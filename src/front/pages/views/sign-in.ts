import { html, type Markup } from "../html.ts";
import type { Site } from "../site.ts";
import { clientLine, type ShownClient } from "./client.ts";
import { type Fault, faultOf, faultSummary, field, hidden, layout } from "./layout.ts";

export interface SignInPage {
  readonly token: string;
  readonly requestId: string | undefined;
  /** The application that waits for the person, if one does. */
  readonly client: ShownClient | undefined;
  readonly email: string | undefined;
  readonly faults: readonly Fault[];
  /** Whether somebody is signed in already and only has to prove it anew. */
  readonly again: boolean;
}

export function signInView(site: Site, { token, requestId, client, email, faults, again }: SignInPage): Markup {
  const title = again ? "Confirm that it is you" : "Sign in";
  return layout(
    site,
    { title: faults.length > 0 ? `Error: ${title}` : title },
    html`<section class="card">
<h1>${title}</h1>
${client && html`<p class="lead">to continue to ${clientLine(client)}</p>`}
${faultSummary(faults)}
<form method="post" action="${site.path("/login")}" class="stack" novalidate>
${hidden(token, requestId)}
${field({ name: "email", label: "E-mail address", type: "email", autocomplete: "username", value: email, error: faultOf(faults, "email"), autofocus: email === undefined })}
${field({ name: "password", label: "Password", type: "password", autocomplete: "current-password", error: faultOf(faults, "password"), autofocus: email !== undefined })}
<button class="button button-wide" type="submit">Sign in</button>
</form>
</section>
<p class="below">New here? <a href="${site.path("/signup", requestId)}">Create an account</a></p>`,
  );
}
