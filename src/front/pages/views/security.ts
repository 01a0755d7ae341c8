import { html, type Markup } from "../html.ts";
import type { Site } from "../site.ts";
import { accountFrame } from "./account-nav.ts";
import { hidden } from "./layout.ts";

export interface SecurityPage {
  readonly token: string;
}

export const securityView = (site: Site, { token }: SecurityPage): Markup =>
  accountFrame(
    site,
    { path: "/account/security", title: "Security" },
    html`<section class="card" aria-labelledby="sessions">
<h2 id="sessions">Sign out everywhere</h2>
<p>Ends every browser session and every application's lasting access to your account, this browser's included. What you allowed stays listed among your applications.</p>
<form method="post" action="${site.path("/logout")}">
${hidden(token)}
<button class="button button-deny" type="submit" name="everywhere" value="yes">Sign out everywhere</button>
</form>
</section>`,
  );
