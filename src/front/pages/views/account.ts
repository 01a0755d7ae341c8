import type { Consent, User } from "../../../accounts/ports.ts";
import type { Language } from "../../texts/language.ts";
import { shownHost, shownName, shownResource } from "../client-words.ts";
import { html, type Markup } from "../html.ts";
import { scopeWords } from "../scope-words.ts";
import type { Site } from "../site.ts";
import { hidden, layout } from "./layout.ts";

export interface AccountPage {
  readonly user: User;
  readonly consents: readonly Consent[];
  readonly token: string;
  /** Says what was just done. */
  readonly done: "revoked" | "resent" | undefined;
}

const DONE = { revoked: "The access has been taken back.", resent: "A new message is on its way to you." } as const;

export function accountView(site: Site, language: Language, { user, consents, token, done }: AccountPage): Markup {
  return layout(
    site,
    { language, title: "Your account", width: "wide", aside: html`<a class="top-link" href="${site.path("/logout")}">Sign out</a>` },
    html`<h1>Your account</h1>
${done !== undefined && html`<p class="done" role="status">${DONE[done]}</p>`}
<section class="card" aria-labelledby="profile">
<h2 id="profile">Profile</h2>
<dl class="facts facts-plain">
${nameOf(user) !== "" && html`<div><dt>Name</dt><dd><bdi>${nameOf(user)}</bdi></dd></div>`}
<div><dt>E-mail address</dt><dd>${user.email} ${user.emailVerified ? html`<span class="tag tag-good">Confirmed</span>` : html`<span class="tag tag-new">Not confirmed</span>`}</dd></div>
<div><dt>Member since</dt><dd>${day(user.createdAt)}</dd></div>
</dl>
${!user.emailVerified && resendForm(site, token)}
</section>
<section class="card" aria-labelledby="applications">
<h2 id="applications">Applications with access</h2>
${
  consents.length === 0
    ? html`<p class="empty">No application has access to your account.</p>`
    : html`<ul class="applications">${consents.map((consent) => application(site, language, consent, token))}</ul>`
}
</section>
<section class="card" aria-labelledby="sessions">
<h2 id="sessions">Sign out everywhere</h2>
<p>Ends every browser session and every application's lasting access to your account, this browser's included. What you allowed stays listed above.</p>
<form method="post" action="${site.path("/logout")}">
${hidden(token)}
<button class="button button-deny" type="submit" name="everywhere" value="yes">Sign out everywhere</button>
</form>
</section>`,
  );
}

const nameOf = ({ firstName, lastName }: User): string => [firstName, lastName].filter((part) => part !== null).join(" ");

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });

/** A day in UTC. @param seconds since the epoch */
function day(seconds: number): Markup {
  const date = new Date(seconds * 1000);
  return html`<time datetime="${date.toISOString()}">${DAY.format(date)}</time>`;
}

const resendForm = (site: Site, token: string): Markup => html`<form method="post" action="${site.path("/account/resend")}">
${hidden(token)}
<button class="button button-quiet" type="submit">Send the confirmation mail again</button>
</form>`;

function application(site: Site, language: Language, consent: Consent, token: string): Markup {
  const name = shownName(language, consent.clientName);
  return html`<li>
<div class="application">
<h3><bdi>${name}</bdi></h3>
${consent.clientId.startsWith("https://") && html`<p class="host">${shownHost(consent.clientId)}</p>`}
<p class="application-scopes">${consent.scopes.map((scope) => scopeWords(language, scope).title).join(" · ")}</p>
${consent.resources.length > 0 && html`<p class="small">At <span class="host">${consent.resources.map(shownResource).join(", ")}</span></p>`}
<p class="small">Allowed on ${day(consent.createdAt)}${consent.lastUsedAt !== null && html`, last used on ${day(consent.lastUsedAt)}`}</p>
</div>
<form method="post" action="${site.path("/account/revoke")}">
${hidden(token)}
<input type="hidden" name="consent" value="${consent.id}">
<button class="button button-quiet" type="submit" aria-label="Take access back from ${name}">Take back</button>
</form>
</li>`;
}
