import { signOutElsewhere, signOutOthers } from "../../../accounts/account.ts";
import type { Passkey, SecondFactorState } from "../../../accounts/factors.ts";
import type { LiveSession, SignedIn } from "../../../accounts/ports.ts";
import { shownMoment, type Texts } from "../../../texts/languages.ts";
import type { OfferedConnection } from "../../../upstream/connection.ts";
import type { LinkedIdentity } from "../../../upstream/ports.ts";
import { donePath } from "../../done.ts";
import { accountForm, accountPageHandler, accountToken, type FormRefused, goneAfter, goneForm, type Visit } from "../kit.ts";
import { type AccountPage, doneWords, passkeyForm, passkeyHead, sendAccountPage } from "../views/cards.ts";
import {
  buttonForm,
  type FailedForm,
  type Fault,
  faultSummary,
  field,
  hidden,
  html,
  type Markup,
  moment,
  type Part,
} from "../views/layout.ts";

/** The value of `done` where the set-up of an authenticator app has to be begun again, as in a new session. */
export const APP_OVER = "appOver";

/** What the page that was redirected to says about that. */
export const appOverFaults = ({ texts }: Visit, done: string | undefined): readonly Fault[] =>
  done === APP_OVER ? [{ message: texts.authenticatorApp.over }] : [];

/** The page about password, other accounts and sessions. @param failed what could not be done to the page's lists */
export async function showSecurity(
  visit: Visit,
  { user, session }: SignedIn,
  { done, faults = [], status }: Partial<Pick<AccountPage, "done">> & FailedForm,
): Promise<void> {
  const { ports, site, language } = visit;
  const [sessions, linked, connections, passkeys, secondFactor] = await Promise.all([
    ports.sessions.ofUser(user.id),
    ports.identityLinks.ofUser(user.id),
    ports.connections.offered(),
    ports.relyingParty && ports.passkeys.ofUser(user.id),
    ports.secondFactors.stateOf(user.id),
  ]);
  const { security: texts, accountNav, words } = visit.texts;
  const card = { ...visit, token: accountToken(visit, user) };
  const frame = { path: "/account/security", title: accountNav.sections.security, faults, done: doneWords(texts.done, done) };
  const content = html`${faultSummary(language, faults)}
${passkeys && passkeyCard(card, passkeys)}
${appCard(card, ports.box.usable(), secondFactor)}
<section class="card" aria-labelledby="new-password">
<h2 id="new-password">${words.password}</h2>
<p>${texts.passwordText}</p>
<p class="small after-form"><a href="${site.path("/account/security/password")}">${words.choosePassword}</a></p>
</section>
${identitiesCard(card, linked, connections)}
${sessionsCard(card, sessions, session.id)}
${leavingCards(card)}`;
  sendAccountPage(visit, { ...frame, head: passkeys && passkeyHead(site) }, content, status);
}

/** Shows the page where a form was about something that another tab has removed. */
export const showGone =
  (what: "passkeyGone" | "appGone"): FormRefused =>
  (visit, signedIn, error) =>
    showSecurity(visit, signedIn, goneForm(error, visit.texts.security[what]));

/** GET /account/security: the password, and where the user is signed in. */
export const securityPage = accountPageHandler((visit, { signedIn, done }) =>
  showSecurity(visit, signedIn, { done, faults: appOverFaults(visit, done) }),
);

export const endSessionPage = accountForm(async (visit, form, { user }) => {
  await goneAfter(signOutElsewhere(form.get("session") ?? "", user.id, visit.ports.sessions, visit.caller));
  return donePath(visit, "/account/security", "session");
});

export const endOtherSessionsPage = accountForm(async (visit, _form, { user, session }) => {
  await signOutOthers(session.id, user.id, visit.ports.sessions, visit.caller);
  return donePath(visit, "/account/security", "others");
});

type Card = Visit & { readonly token: string };

/** @param current the id of the session of this browser */
function sessionsCard(card: Card, sessions: readonly LiveSession[], current: string): Markup {
  const { site, token } = card;
  const { security: texts } = card.texts;
  const elsewhere = sessions.filter(({ id }) => id !== current);
  const item = (session: LiveSession) => sessionItem(card, session, session.id === current);
  return html`<section class="card" aria-labelledby="sessions">
<h2 id="sessions">${texts.sessions}</h2>
<p>${texts.sessionsText}</p>
<ul class="applications">${sessions.filter(({ id }) => id === current).map(item)}${elsewhere.map(item)}</ul>
${elsewhere.length > 0 && buttonForm(site.path("/account/security/sessions/end-others"), token, { words: texts.signOutOthers })}
</section>`;
}

function leavingCards({ site, texts: { security: texts, deleteAccount, accountNav }, token }: Card): Markup {
  return html`<section class="card" aria-labelledby="everywhere">
<h2 id="everywhere">${texts.everywhere}</h2>
<p>${texts.everywhereText}</p>
<form method="post" action="${site.path("/logout")}">
${hidden(token)}
<button class="button button-deny" type="submit" name="everywhere" value="yes">${texts.everywhere}</button>
</form>
</section>
<section class="card" aria-labelledby="delete">
<h2 id="delete">${accountNav.sections.deleteAccount}</h2>
<p>${texts.deleteText}</p>
<p class="small after-form"><a href="${site.path("/account/delete")}">${deleteAccount.submit}</a></p>
</section>`;
}

function sessionItem({ site, language, texts: { security: texts, words }, token }: Card, session: LiveSession, here: boolean): Markup {
  const device = deviceWords(texts, session);
  const label = texts.signOutOf(device, shownMoment(language, session.authTime));
  return html`<li>
<div class="application">
<h3><bdi>${device}</bdi> ${here && html`<span class="tag tag-good">${texts.thisBrowser}</span>`}</h3>
<p class="small">${texts.signedInAt} ${moment(language, session.authTime)}</p>
<p class="small">${texts.lastSeenAt} ${moment(language, session.lastSeenAt)}</p>
${session.address !== null && html`<p class="small">${texts.fromAddress} <span class="host">${session.address}</span></p>`}
</div>
${!here && buttonForm(site.path("/account/security/sessions/end"), token, { words: words.signOut, label, member: ["session", session.id] })}
</li>`;
}

const deviceWords = (texts: Texts["security"], { browser, system }: LiveSession): string =>
  browser !== null && system !== null ? texts.device(browser, system) : (browser ?? system ?? texts.unknownDevice);

function passkeyCard(card: Card, passkeys: readonly Passkey[]): Markup {
  const { site, language, token } = card;
  const { security: texts, words } = card.texts;
  return html`<section class="card" aria-labelledby="passkeys">
<h2 id="passkeys">${texts.passkeys}</h2>
<p>${texts.passkeysText}</p>
${
  passkeys.length === 0
    ? html`<p class="small">${texts.noPasskeys}</p>`
    : html`<ul class="applications">${passkeys.map((passkey) => passkeyItem(card, passkey))}</ul>`
}
${passkeyForm(site, {
  ...{ kind: "add", path: "/account/security/passkeys", members: hidden(token), quiet: false },
  fields: field(language, [], { name: "name", label: texts.passkeyName, type: "text", autocomplete: "off", optional: true }),
  ...{ submit: words.addPasskey, failure: texts.passkeyAddFailed, known: texts.passkeyKnown },
})}
<noscript><p class="small">${texts.passkeyNeedsScripts}</p></noscript>
</section>`;
}

function passkeyItem({ site, language, texts: { security: texts }, token }: Card, passkey: Passkey): Markup {
  const { id, name, createdAt, lastUsedAt, backedUp, copiedAt } = passkey;
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

/**
 * The part about the second step.
 * @param apps whether the server can set up apps  @returns undefined where it cannot, and there is none
 */
export function appCard(
  { site, language, texts: { authenticatorApp: texts }, token }: Pick<Card, "site" | "language" | "texts" | "token">,
  apps: boolean,
  { appAddedAt, recoveryCodes }: SecondFactorState,
): Part {
  if (appAddedAt === null && !apps) return undefined;
  const path = "/account/security/app";
  /** A step that a slip of the finger must not take. It needs no script and no page of its own. */
  const question = (step: string, { title, text, submit }: Readonly<Record<"title" | "text" | "submit", string>>) =>
    html`<details><summary>${title}</summary>
<p class="small">${text}</p>
${buttonForm(site.path(`${path}/${step}`), token, { words: submit })}
</details>`;
  return html`<section class="card" aria-labelledby="second-step">
<h2 id="second-step">${texts.heading}</h2>
<p>${texts.text}</p>
${
  appAddedAt === null
    ? buttonForm(site.path(`${path}/begin`), token, { words: texts.setUp })
    : html`<p class="small">${texts.since} ${moment(language, appAddedAt)}</p>
<p class="small">${texts.codesLeft(recoveryCodes)}</p>
${apps && html`<p class="small">${texts.newPhone}</p>`}
${question("codes", texts.newCodes)}
${question("remove", texts.remove)}`
}
</section>`;
}

/** Other accounts that sign in to this one. Nothing where there is none and no provider. */
function identitiesCard(card: Card, linked: readonly LinkedIdentity[], connections: readonly OfferedConnection[]): Part {
  const { token } = card;
  const { security: texts } = card.texts;
  const identities = linked.filter(({ confirmed }) => confirmed);
  if (identities.length === 0 && connections.length === 0) return undefined;
  const action = card.site.path("/account/security/identities");
  return html`<section class="card" aria-labelledby="identities">
<h2 id="identities">${texts.identities}</h2>
<p>${texts.identitiesText}</p>
${identities.length > 0 && html`<ul class="applications">${identities.map((identity) => identityItem(card, action, identity))}</ul>`}
${connections.map(({ name, title }) => buttonForm(action, token, { words: texts.link(title), member: ["link", name] }))}
</section>`;
}

function identityItem({ language, texts: { security: texts }, token }: Card, action: string, identity: LinkedIdentity): Markup {
  const { issuer, subject, title, email, createdAt } = identity;
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
