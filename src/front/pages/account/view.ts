import type { Consent, User } from "../../../accounts/ports.ts";
import type { NamedTarget } from "../../../clients/client.ts";
import { accountToken, queryMember, type Visit } from "../kit.ts";
import { doneWords, sendAccountPage, wideLink } from "../views/cards.ts";
import { buttonForm, day, type FailedForm, faultSummary, field, hidden, html, type Markup } from "../views/layout.ts";
import { effectiveScopes, type Names, namesOf, scopeWords, shownHost, shownName, shownTarget } from "../views/words.ts";

/** Applications that the page lists. */
const PAGE_LIMIT = 50;

interface Shown extends FailedForm {
  readonly done?: string | undefined;
  /** The name as typed, where it could not be saved. */
  readonly typed?: Readonly<Record<"firstName" | "lastName", string>>;
  /** For the first operator, who has just opened the account. */
  readonly offersConsole?: boolean;
  /** For a user who has just signed in without a passkey, and has none. */
  readonly offersPasskey?: boolean;
}

export async function showAccount(visit: Visit, user: User, shown: Shown): Promise<void> {
  const { ports, site, language } = visit;
  const { account: texts, accountNav, security, words } = visit.texts;
  const { done, faults, status } = shown;
  const { items: consents, next } = await ports.consents.list(user.id, { limit: PAGE_LIMIT, cursor: queryMember(visit, "after") });
  const targets = ports.namedTargets(consents.flatMap(({ clientId, resources }) => [clientId, ...resources]));
  const names = await namesOf(ports, user, consents, targets);
  const known = { ...names, clients: await targets };
  const token = accountToken(visit, user);
  const name = [user.firstName, user.lastName].filter(Boolean).join(" ");
  const tag = user.emailVerified
    ? html`<span class="tag tag-good">${texts.confirmed}</span>`
    : html`<span class="tag tag-new">${texts.notConfirmed}</span>`;
  const content = html`${
    shown.offersConsole &&
    html`<section class="card" aria-labelledby="console">
<h2 id="console">${texts.consoleOffer(site.host)}</h2>
<p>${texts.consoleOfferText}</p>
${wideLink(site.path("/console"), texts.consoleOfferLink)}
</section>`
  }${
    shown.offersPasskey &&
    html`<section class="card" aria-labelledby="offer">
<h2 id="offer">${texts.passkeyOffer}</h2>
<p>${security.passkeysText}</p>
<p class="small"><a href="${site.path("/account/security")}">${words.addPasskey}</a></p>
</section>`
  }<section class="card" aria-labelledby="profile">
<h2 id="profile">${accountNav.sections.profile}</h2>
<dl class="facts facts-plain">
${name !== "" && html`<div><dt>${texts.name}</dt><dd><bdi>${name}</bdi></dd></div>`}
<div><dt>${words.email}</dt><dd>${user.email} ${tag} <a class="small" href="${site.path("/account/security/address")}">${texts.changeEmail}</a></dd></div>
<div><dt>${texts.memberSince}</dt><dd>${day(language, user.createdAt)}</dd></div>
</dl>
${!user.emailVerified && buttonForm(site.path("/account/resend"), token, { words: texts.resend })}
${nameForm(visit, user, token, shown)}
<p class="small"><a href="${site.path("/account/data")}">${texts.download}</a></p>
</section>
<section class="card" aria-labelledby="applications">
<h2 id="applications">${texts.applications}</h2>
${
  consents.length === 0
    ? html`<p class="empty">${texts.noApplications}</p>`
    : html`<ul class="applications">${consents.map((consent) => application(visit, consent, known, token))}</ul>`
}
${next !== null && html`<p class="small"><a href="${site.path("/account")}?after=${next}#applications">${texts.earlier}</a></p>`}
</section>`;
  sendAccountPage(visit, { path: "/account", title: words.yourAccount, faults, done: doneWords(texts.done, done) }, content, status);
}

function nameForm({ site, language, texts: { account: texts } }: Visit, user: User, token: string, { typed, faults = [] }: Shown): Markup {
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

/** The `clients` are those that are registered. */
type Known = Names & { readonly clients: ReadonlyMap<string, Pick<NamedTarget, "grantTypes">> };

function application(visit: Visit, consent: Consent, { targets, described, clients }: Known, token: string): Markup {
  const { site, language } = visit;
  const { account: texts, words } = visit.texts;
  const name = shownName(language, consent.clientName);
  const { createdAt, lastUsedAt, resources } = consent;
  const scopes = effectiveScopes(consent.scopes, clients.get(consent.clientId)?.grantTypes.includes("refresh_token"));
  const places = resources.map(
    (resource, index) => html`${index > 0 && ", "}<bdi class="host">${shownTarget(language, resource, targets)}</bdi>`,
  );
  return html`<li>
<div class="application">
<h3><bdi>${name}</bdi></h3>
${consent.clientId.startsWith("https://") && html`<p class="host">${shownHost(consent.clientId)}</p>`}
<p class="application-scopes">${scopes.map((scope) => scopeWords(language, scope, described).title).join(" · ")}</p>
${places.length > 0 && html`<p class="small">${words.worksWith} ${places}</p>`}
<p class="small">${texts.allowedOn} ${day(language, createdAt)}${lastUsedAt !== null && html`, ${texts.lastUsedOn} ${day(language, lastUsedAt)}`}</p>
</div>
${buttonForm(site.path("/account/revoke"), token, { words: texts.remove, label: texts.removeFrom(name), member: ["consent", consent.id] })}
</li>`;
}
