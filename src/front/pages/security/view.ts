import type { Passkey } from "../../../accounts/factors.ts";
import type { LiveSession } from "../../../accounts/ports.ts";
import { type Language, shownMoment, TEXTS, type Texts } from "../../../texts/languages.ts";
import type { OfferedConnection } from "../../../upstream/connection.ts";
import type { LinkedIdentity } from "../../../upstream/ports.ts";
import { type AccountPage, accountFrame, doneWords } from "../views/account-frame.ts";
import {
  buttonForm,
  type Fault,
  faultSummary,
  field,
  type HostedPage,
  hidden,
  html,
  type Markup,
  moment,
  type Part,
  type Site,
} from "../views/layout.ts";
import { passkeyForm, passkeyHead } from "../views/passkey-form.ts";
import { type AppCard, appCard } from "./app-view.ts";

export interface SecurityPage extends Pick<AccountPage, "done">, AppCard, Identities {
  /** Undefined where browsers make no passkeys. */
  readonly passkeys: readonly Passkey[] | undefined;
  readonly sessions: readonly LiveSession[];
  /** The id of the session of this browser. */
  readonly current: string;
  /** What could not be done to the page's lists. */
  readonly faults: readonly Fault[];
}

export function securityView(site: Site, language: Language, page: SecurityPage): HostedPage {
  const { token, sessions, passkeys, current, done, faults } = page;
  const texts = TEXTS[language].security;
  const here = sessions.filter(({ id }) => id === current);
  const elsewhere = sessions.filter(({ id }) => id !== current);
  return accountFrame(
    site,
    {
      ...{ language, path: "/account/security", title: texts.title, faults, done: doneWords(texts.done, done) },
      ...(passkeys && { head: passkeyHead(site) }),
    },
    html`${faultSummary(language, faults)}
${passkeys && passkeyCard(site, language, passkeys, token)}
${appCard(site, language, page)}
<section class="card" aria-labelledby="new-password">
<h2 id="new-password">${texts.password}</h2>
<p>${texts.passwordText}</p>
<p class="small after-form"><a href="${site.path("/account/security/password")}">${texts.passwordLink}</a></p>
</section>
${identitiesCard(site, language, page)}
<section class="card" aria-labelledby="sessions">
<h2 id="sessions">${texts.sessions}</h2>
<p>${texts.sessionsText}</p>
<ul class="applications">${here.map((session) => sessionItem(site, language, session, true, token))}${elsewhere.map((session) => sessionItem(site, language, session, false, token))}</ul>
${elsewhere.length > 0 && buttonForm(site.path("/account/security/sessions/end-others"), token, { words: texts.signOutOthers })}
</section>
<section class="card" aria-labelledby="everywhere">
<h2 id="everywhere">${texts.everywhere}</h2>
<p>${texts.everywhereText}</p>
<form method="post" action="${site.path("/logout")}">
${hidden(token)}
<button class="button button-deny" type="submit" name="everywhere" value="yes">${texts.everywhereSubmit}</button>
</form>
</section>
<section class="card" aria-labelledby="delete">
<h2 id="delete">${texts.deleteAccount}</h2>
<p>${texts.deleteText}</p>
<p class="small after-form"><a href="${site.path("/account/delete")}">${texts.deleteLink}</a></p>
</section>`,
  );
}

function sessionItem(site: Site, language: Language, session: LiveSession, here: boolean, token: string): Markup {
  const texts = TEXTS[language].security;
  const device = deviceWords(texts, session);
  const label = texts.signOutOf(device, shownMoment(language, session.authTime));
  return html`<li>
<div class="application">
<h3><bdi>${device}</bdi> ${here && html`<span class="tag tag-good">${texts.thisBrowser}</span>`}</h3>
<p class="small">${texts.signedInAt} ${moment(language, session.authTime)}</p>
<p class="small">${texts.lastSeenAt} ${moment(language, session.lastSeenAt)}</p>
${session.address !== null && html`<p class="small">${texts.fromAddress} <span class="host">${session.address}</span></p>`}
</div>
${!here && buttonForm(site.path("/account/security/sessions/end"), token, { words: texts.signOut, label, member: ["session", session.id] })}
</li>`;
}

const deviceWords = (texts: Texts["security"], { browser, system }: LiveSession): string =>
  browser !== null && system !== null ? texts.device(browser, system) : (browser ?? system ?? texts.unknownDevice);

/** The passkeys of a user, and the form for another. */
function passkeyCard(site: Site, language: Language, passkeys: readonly Passkey[], token: string): Markup {
  const texts = TEXTS[language].security;
  return html`<section class="card" aria-labelledby="passkeys">
<h2 id="passkeys">${texts.passkeys}</h2>
<p>${texts.passkeysText}</p>
${
  passkeys.length === 0
    ? html`<p class="small">${texts.noPasskeys}</p>`
    : html`<ul class="applications">${passkeys.map((passkey) => passkeyItem(site, language, passkey, token))}</ul>`
}
${passkeyForm(site, {
  ...{ kind: "add", path: "/account/security/passkeys", members: hidden(token), quiet: false },
  fields: field(language, [], { name: "name", label: texts.passkeyName, type: "text", autocomplete: "off", optional: true }),
  ...{ submit: texts.passkeyAdd, failure: texts.passkeyAddFailed, known: texts.passkeyKnown },
})}
<noscript><p class="small">${texts.passkeyNeedsScripts}</p></noscript>
</section>`;
}

function passkeyItem(
  site: Site,
  language: Language,
  { id, name, createdAt, lastUsedAt, backedUp, copiedAt }: Passkey,
  token: string,
): Markup {
  const texts = TEXTS[language].security;
  const path = "/account/security/passkeys";
  return html`<li>
<div class="application">
<h3><bdi>${name}</bdi> ${backedUp && html`<span class="tag">${texts.passkeySynced}</span>`}</h3>
${copiedAt !== null && html`<p class="fault">${texts.passkeyCopied}</p>`}
<p class="small">${texts.passkeyMade} ${moment(language, createdAt)}</p>
<p class="small">${lastUsedAt === null ? texts.passkeyUnused : html`${texts.passkeyUsed} ${moment(language, lastUsedAt)}`}</p>
<details><summary aria-label="${texts.passkeyRenameOf(name)}">${texts.passkeyRename}</summary>
<form method="post" action="${site.path(`${path}/rename`)}" class="stack">
${hidden(token)}
<input type="hidden" name="passkey" value="${id}">
<div class="field"><label for="name-${id}">${texts.passkeyName}</label><input id="name-${id}" name="name" type="text" autocomplete="off" value="${name}" maxlength="60" required></div>
<button class="button button-quiet" type="submit">${texts.passkeyRename}</button>
</form></details>
</div>
${buttonForm(site.path(`${path}/remove`), token, { words: texts.passkeyRemove, label: texts.passkeyRemoveOf(name), member: ["passkey", id] })}
</li>`;
}

/** What the security page knows about other accounts and their providers. */
export interface Identities {
  readonly token: string;
  readonly identities: readonly LinkedIdentity[];
  /** Those of which an account can be connected. */
  readonly connections: readonly OfferedConnection[];
}

/** Other accounts that sign in to this one. Nothing where there is none and no provider. */
function identitiesCard(site: Site, language: Language, { token, identities, connections }: Identities): Part {
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
