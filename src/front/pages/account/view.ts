import type { Consent, User } from "../../../accounts/ports.ts";
import { catalogue, type Language } from "../../texts/language.ts";
import {
  accountFrame,
  buttonForm,
  day,
  doneWords,
  type Fault,
  faultSummary,
  field,
  hidden,
  html,
  type Markup,
  type Part,
  type Site,
} from "../views/layout.ts";
import { type Described, scopeWords, shownHost, shownName, shownTarget, type Targets } from "../views/words.ts";

export interface AccountPage {
  readonly user: User;
  readonly consents: readonly Consent[];
  /** Clients among the resources of the consents. */
  readonly targets: Targets;
  readonly described: Described;
  readonly token: string;
  readonly done?: string | undefined;
  /** The name as typed, where it could not be saved. */
  readonly typed?: { readonly firstName: string; readonly lastName: string } | undefined;
  readonly faults: readonly Fault[];
}

export function accountView(site: Site, language: Language, page: AccountPage): Markup {
  const { user, consents, token, done, faults } = page;
  const texts = accountTexts[language];
  const tag = user.emailVerified
    ? html`<span class="tag tag-good">${texts.confirmed}</span>`
    : html`<span class="tag tag-new">${texts.notConfirmed}</span>`;
  return accountFrame(
    site,
    { language, path: "/account", title: texts.title, faults, done: doneWords(texts.done, done) },
    html`<section class="card" aria-labelledby="profile">
<h2 id="profile">${texts.profile}</h2>
<dl class="facts facts-plain">
${nameOf(user) !== "" && html`<div><dt>${texts.name}</dt><dd><bdi>${nameOf(user)}</bdi></dd></div>`}
<div><dt>${texts.email}</dt><dd>${user.email} ${tag}</dd></div>
<div><dt>${texts.memberSince}</dt><dd>${day(language, user.createdAt)}</dd></div>
</dl>
${!user.emailVerified && buttonForm(site.path("/account/resend"), token, { words: texts.resend })}
${nameForm(site, language, page)}
<p class="small"><a href="${site.path("/account/data")}">${texts.download}</a></p>
</section>
<section class="card" aria-labelledby="applications">
<h2 id="applications">${texts.applications}</h2>
${
  consents.length === 0
    ? html`<p class="empty">${texts.noApplications}</p>`
    : html`<ul class="applications">${consents.map((consent) => application(site, language, consent, page))}</ul>`
}
</section>`,
  );
}

const nameOf = ({ firstName, lastName }: User): string => [firstName, lastName].filter(Boolean).join(" ");

function nameForm(site: Site, language: Language, { user, token, typed, faults }: AccountPage): Markup {
  const texts = accountTexts[language];
  const input = (name: "firstName" | "lastName", autocomplete: string) =>
    field(language, faults, {
      name,
      label: texts[name],
      type: "text",
      autocomplete,
      value: typed?.[name] ?? user[name] ?? "",
      optional: true,
    });
  return html`${faultSummary(language, faults)}
<form method="post" action="${site.path("/account/profile")}" class="stack" novalidate>
${hidden(token)}
<div class="pair">
${input("firstName", "given-name")}
${input("lastName", "family-name")}
</div>
<button class="button button-quiet" type="submit">${texts.saveName}</button>
</form>`;
}

function application(site: Site, language: Language, consent: Consent, { targets, described, token }: AccountPage): Markup {
  const texts = accountTexts[language];
  const name = shownName(language, consent.clientName);
  const { createdAt, lastUsedAt } = consent;
  return html`<li>
<div class="application">
<h3><bdi>${name}</bdi></h3>
${consent.clientId.startsWith("https://") && html`<p class="host">${shownHost(consent.clientId)}</p>`}
<p class="application-scopes">${consent.scopes.map((scope) => scopeWords(language, scope, described).title).join(" · ")}</p>
${consent.resources.length > 0 && html`<p class="small">${texts.worksWith} ${resourceList(language, consent.resources, targets)}</p>`}
<p class="small">${texts.allowedOn} ${day(language, createdAt)}${lastUsedAt !== null && html`, ${texts.lastUsedOn} ${day(language, lastUsedAt)}`}</p>
</div>
${buttonForm(site.path("/account/revoke"), token, { words: texts.remove, label: texts.removeFrom(name), member: ["consent", consent.id] })}
</li>`;
}

const resourceList = (language: Language, resources: readonly string[], targets: Targets): Part =>
  resources.map((resource, index) => html`${index > 0 && ", "}<bdi class="host">${shownTarget(language, resource, targets)}</bdi>`);

const accountTexts = catalogue({
  en: {
    title: "Your account",
    done: {
      joined: "Your account is ready. Open the link in the mail that we sent you to confirm your address.",
      revoked: "Access removed.",
      resent: "A new message is on its way to you.",
      named: "Your name has been saved.",
    },
    profile: "Profile",
    name: "Name",
    firstName: "First name",
    lastName: "Last name",
    saveName: "Save name",
    download: "Download your data (JSON)",
    email: "E-mail address",
    confirmed: "Confirmed",
    notConfirmed: "Not confirmed",
    memberSince: "Member since",
    resend: "Send the confirmation mail again",
    applications: "Applications with access",
    noApplications: "No application has access to your account.",
    /** Before the resources that an access works with. */
    worksWith: "Works with",
    allowedOn: "Allowed on",
    lastUsedOn: "last used on",
    remove: "Remove access",
    removeFrom: (name: string) => `Remove access from ${name}`,
  },
  de: {
    title: "Ihr Konto",
    done: {
      joined: "Ihr Konto ist angelegt. Öffnen Sie den Link in der Mail an Sie, um Ihre Adresse zu bestätigen.",
      revoked: "Zugriff entfernt.",
      resent: "Eine neue Nachricht ist auf dem Weg zu Ihnen.",
      named: "Ihr Name wurde gespeichert.",
    },
    profile: "Profil",
    name: "Name",
    firstName: "Vorname",
    lastName: "Nachname",
    saveName: "Namen speichern",
    download: "Ihre Daten herunterladen (JSON)",
    email: "E-Mail-Adresse",
    confirmed: "Bestätigt",
    notConfirmed: "Nicht bestätigt",
    memberSince: "Mitglied seit",
    resend: "Bestätigungsmail erneut senden",
    applications: "Anwendungen mit Zugriff",
    noApplications: "Keine Anwendung hat Zugriff auf Ihr Konto.",
    worksWith: "Gilt bei",
    allowedOn: "Erlaubt am",
    lastUsedOn: "zuletzt genutzt am",
    remove: "Zugriff entfernen",
    removeFrom: (name) => `Zugriff entfernen: ${name}`,
  },
});
