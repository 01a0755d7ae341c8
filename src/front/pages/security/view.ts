import type { LiveSession } from "../../../accounts/ports.ts";
import { type Language, shownMoment } from "../../texts/language.ts";
import { type AccountPage, accountFrame, doneWords } from "../account-page.ts";
import { html, type Markup } from "../html.ts";
import type { Site } from "../site.ts";
import { buttonForm, type Fault, faultOf, faultSummary, field, hidden, moment } from "../views/layout.ts";
import { type SecurityTexts, securityTexts } from "./texts.ts";

export interface SecurityPage extends Pick<AccountPage, "token" | "done"> {
  readonly sessions: readonly LiveSession[];
  /** The id of the session of this browser. */
  readonly current: string;
  /** Of the form for a new password. */
  readonly faults: readonly Fault[];
}

export function securityView(site: Site, language: Language, page: SecurityPage): Markup {
  const { token, sessions, current, done, faults } = page;
  const texts = securityTexts[language];
  const here = sessions.filter(({ id }) => id === current);
  const elsewhere = sessions.filter(({ id }) => id !== current);
  return accountFrame(
    site,
    { language, path: "/account/security", title: texts.title, faults, done: doneWords(texts.done, done) },
    html`${passwordForm(site, language, token, faults)}
<section class="card" aria-labelledby="sessions">
<h2 id="sessions">${texts.sessions}</h2>
<p>${texts.sessionsText}</p>
<ul class="applications">${here.map((session) => sessionItem(site, language, session, true, token))}${elsewhere.map((session) => sessionItem(site, language, session, false, token))}</ul>
${elsewhere.length > 0 && buttonForm(site.path("/account/sessions/end-others"), token, { words: texts.signOutOthers })}
</section>
<section class="card" aria-labelledby="everywhere">
<h2 id="everywhere">${texts.everywhere}</h2>
<p>${texts.everywhereText}</p>
<form method="post" action="${site.path("/logout")}">
${hidden(token)}
<button class="button button-deny" type="submit" name="everywhere" value="yes">${texts.everywhereSubmit}</button>
</form>
</section>`,
  );
}

function passwordForm(site: Site, language: Language, token: string, faults: readonly Fault[]): Markup {
  const texts = securityTexts[language];
  return html`<section class="card" aria-labelledby="new-password">
<h2 id="new-password">${texts.password}</h2>
<p>${texts.passwordText}</p>
${faultSummary(language, faults)}
<form method="post" action="${site.path("/account/password")}" class="stack" novalidate>
${hidden(token)}
${field(language, { name: "currentPassword", label: texts.currentPassword, type: "password", autocomplete: "current-password", error: faultOf(faults, "currentPassword") })}
${field(language, { name: "password", label: texts.newPassword, type: "password", autocomplete: "new-password", hint: texts.passwordHint, error: faultOf(faults, "password") })}
<button class="button" type="submit">${texts.passwordSubmit}</button>
</form>
<p class="small after-form"><a href="${site.path("/forgot")}">${texts.forgotten}</a></p>
</section>`;
}

function sessionItem(site: Site, language: Language, session: LiveSession, here: boolean, token: string): Markup {
  const texts = securityTexts[language];
  const device = deviceWords(texts, session);
  const label = texts.signOutOf(device, shownMoment(language, session.authTime));
  return html`<li>
<div class="application">
<h3><bdi>${device}</bdi> ${here && html`<span class="tag tag-good">${texts.thisBrowser}</span>`}</h3>
<p class="small">${texts.signedInAt} ${moment(language, session.authTime)}</p>
<p class="small">${texts.lastSeenAt} ${moment(language, session.lastSeenAt)}</p>
${session.address !== null && html`<p class="small">${texts.fromAddress} <span class="host">${session.address}</span></p>`}
</div>
${!here && buttonForm(site.path("/account/sessions/end"), token, { words: texts.signOut, label, member: ["session", session.id] })}
</li>`;
}

const deviceWords = (texts: SecurityTexts, { browser, system }: LiveSession): string =>
  browser !== null && system !== null ? texts.device(browser, system) : (browser ?? system ?? texts.unknownDevice);
