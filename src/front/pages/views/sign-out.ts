import { html, type Markup } from "../html.ts";
import type { Site } from "../site.ts";
import { hidden, layout } from "./layout.ts";

/** Asks before signing out: a link from elsewhere must not do it. */
export const signOutView = (site: Site, { token, email }: { readonly token: string; readonly email: string }): Markup =>
  layout(
    site,
    { language: "en", title: "Sign out" },
    html`<section class="card">
<h1>Sign out?</h1>
<p class="lead">You are signed in as <strong>${email}</strong>. Applications that you allowed keep their access.</p>
<form method="post" action="${site.path("/logout")}" class="stack">
${hidden(token)}
<button class="button button-wide" type="submit">Sign out</button>
</form>
</section>
<p class="below"><a href="${site.path("/account")}">Stay signed in</a></p>`,
  );
