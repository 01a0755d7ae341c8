import type { Consent, User } from "../../../accounts/ports.ts";
import { shownHost, shownName, shownResource } from "../client-words.ts";
import { html, type Markup } from "../html.ts";
import { scopeWords } from "../scope-words.ts";
import type { Site } from "../site.ts";
import { accountFrame, doneWords } from "./account-nav.ts";
import { hidden } from "./layout.ts";

export interface AccountPage {
  readonly user: User;
  readonly consents: readonly Consent[];
  readonly token: string;
  /** Says what was just done. */
  readonly done: string | undefined;
}

const DONE = { revoked: "The access has been taken back.", resent: "A new message is on its way to you." } as const;

export function accountView(site: Site, { user, consents, token, done }: AccountPage): Markup {
  return accountFrame(
    site,
    { path: "/account", title: "Your account", done: doneWords(DONE, done) },
    html`<section class="card" aria-labelledby="profile">
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
    : html`<ul class="applications">${consents.map((consent) => application(site, consent, token))}</ul>`
}
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

function application(site: Site, consent: Consent, token: string): Markup {
  const name = shownName(consent.clientName);
  return html`<li>
<div class="application">
<h3><bdi>${name}</bdi></h3>
${consent.clientId.startsWith("https://") && html`<p class="host">${shownHost(consent.clientId)}</p>`}
<p class="application-scopes">${consent.scopes.map((scope) => scopeWords(scope).title).join(" · ")}</p>
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
