import type { Passkey } from "../../../accounts/factors.ts";
import type { LiveSession } from "../../../accounts/ports.ts";
import { shownMoment } from "../../../texts/format.ts";
import { type Language, TEXTS, type Texts } from "../../../texts/languages.ts";
import { type AccountPage, accountFrame, doneWords } from "../views/account-frame.ts";
import { buttonForm, type Fault, faultSummary, type HostedPage, hidden, html, type Markup, moment, type Site } from "../views/layout.ts";
import { passkeyHead } from "../views/passkey-form.ts";
import { type AppCard, appCard } from "./app-view.ts";
import { passkeyCard } from "./factors-view.ts";
import { type Identities, identitiesCard } from "./identities.ts";

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
