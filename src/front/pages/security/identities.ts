import { type Language, TEXTS } from "../../../texts/languages.ts";
import type { OfferedConnection } from "../../../upstream/connection.ts";
import type { LinkedIdentity } from "../../../upstream/ports.ts";
import { buttonForm, html, type Markup, moment, type Part, type Site } from "../views/layout.ts";

/** What the security page knows about other accounts and their providers. */
export interface Identities {
  readonly token: string;
  readonly identities: readonly LinkedIdentity[];
  /** Those of which an account can be connected. */
  readonly connections: readonly OfferedConnection[];
}

/** Other accounts that sign in to this one. Nothing where there is none and no provider. */
export function identitiesCard(site: Site, language: Language, { token, identities, connections }: Identities): Part {
  const texts = TEXTS[language].security;
  if (identities.length === 0 && connections.length === 0) return undefined;
  const action = site.path("/account/security/identities");
  return html`<section class="card" aria-labelledby="identities">
<h2 id="identities">${texts.identities}</h2>
<p>${texts.identitiesText}</p>
${identities.length > 0 && html`<ul class="applications">${identities.map((identity) => identityItem(action, language, identity, token))}</ul>`}
${connections.map(({ name, title }) => buttonForm(action, token, { words: texts.link(title), member: ["link", name] }))}
</section>`;
}

function identityItem(action: string, language: Language, identity: LinkedIdentity, token: string): Markup {
  const { issuer, subject, title, email, createdAt } = identity;
  const texts = TEXTS[language].security;
  const shown = title ?? texts.removedProvider;
  const label = texts.unlinkOf(shown, email ?? "").trim();
  return html`<li>
<div class="application">
<h3><bdi>${shown}</bdi></h3>
${email !== null && html`<p class="small"><bdi>${email}</bdi></p>`}
<p class="small">${texts.linkedAt} ${moment(language, createdAt)}</p>
</div>
${buttonForm(action, token, { words: texts.unlink, label, member: ["unlink", `${issuer} ${subject}`] })}
</li>`;
}
