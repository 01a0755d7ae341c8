import type { LiveSession } from "../../../accounts/ports.ts";
import { catalogue, type Language, shownMoment } from "../../texts/language.ts";
import {
  type AccountPage,
  accountFrame,
  buttonForm,
  doneWords,
  type Fault,
  faultSummary,
  field,
  hidden,
  html,
  type Markup,
  moment,
  type Site,
} from "../views/layout.ts";

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
${field(language, faults, { name: "currentPassword", label: texts.currentPassword, type: "password", autocomplete: "current-password" })}
${field(language, faults, { name: "password", label: texts.newPassword, type: "password", autocomplete: "new-password", hint: texts.passwordHint })}
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

const securityTexts = catalogue({
  en: {
    title: "Security",
    done: {
      password: "Your password has been changed. Everything else that was signed in has been signed out.",
      session: "The session has been signed out.",
      others: "All other sessions have been signed out.",
    },
    password: "Password",
    passwordText: "A new password signs you out everywhere but here.",
    currentPassword: "Current password",
    newPassword: "New password",
    passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
    passwordSubmit: "Change password",
    forgotten: "Forgot your password?",
    sessions: "Where you are signed in",
    sessionsText: "Sign out what you do not know or no longer use, and change your password if somebody else was there.",
    thisBrowser: "This browser",
    /** Of a browser that does not identify itself. */
    unknownDevice: "Unknown program",
    device: (browser: string, system: string) => `${browser} on ${system}`,
    signedInAt: "Signed in on",
    lastSeenAt: "Last seen about",
    fromAddress: "From the address",
    signOut: "Sign out",
    signOutOf: (device: string, since: string) => `Sign out ${device}, signed in on ${since}`,
    signOutOthers: "Sign out all others",
    everywhere: "Sign out everywhere",
    everywhereText:
      "Ends every browser session and every application's lasting access to your account, this browser's included. What you allowed stays listed among your applications.",
    everywhereSubmit: "Sign out everywhere",
  },
  de: {
    title: "Sicherheit",
    done: {
      password: "Ihr Passwort wurde geändert. Alles andere, was angemeldet war, ist jetzt abgemeldet.",
      session: "Die Sitzung wurde abgemeldet.",
      others: "Alle anderen Sitzungen wurden abgemeldet.",
    },
    password: "Passwort",
    passwordText: "Ein neues Passwort meldet Sie überall ab, nur hier nicht.",
    currentPassword: "Bisheriges Passwort",
    newPassword: "Neues Passwort",
    passwordHint: "Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.",
    passwordSubmit: "Passwort ändern",
    forgotten: "Passwort vergessen?",
    sessions: "Wo Sie angemeldet sind",
    sessionsText:
      "Melden Sie ab, was Sie nicht kennen oder nicht mehr benutzen, und ändern Sie Ihr Passwort, wenn jemand anderes angemeldet war.",
    thisBrowser: "Dieser Browser",
    unknownDevice: "Unbekanntes Programm",
    device: (browser, system) => `${browser} auf ${system}`,
    signedInAt: "Angemeldet am",
    lastSeenAt: "Zuletzt gesehen etwa am",
    fromAddress: "Von der Adresse",
    signOut: "Abmelden",
    signOutOf: (device, since) => `${device} abmelden, angemeldet am ${since}`,
    signOutOthers: "Alle anderen abmelden",
    everywhere: "Überall abmelden",
    everywhereText:
      "Beendet jede Browser-Sitzung und jeden dauerhaften Zugriff von Anwendungen auf Ihr Konto, auch in diesem Browser. Was Sie erlaubt haben, bleibt bei Ihren Anwendungen aufgeführt.",
    everywhereSubmit: "Überall abmelden",
  },
});

type SecurityTexts = (typeof securityTexts)["en"];
