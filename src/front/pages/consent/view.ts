import type { AccessLifetimes } from "../../../gen/countersign/token/v1/token_pb.ts";
import { catalogue, type Language, shownDuration } from "../../texts/language.ts";
import { hidden, html, layout, type Markup, type Part, type Site } from "../views/layout.ts";
import {
  clientTexts,
  type Described,
  isDescribed,
  type ScopeWords,
  type ShownClient,
  scopeWords,
  shownTarget,
  shownText,
  type Targets,
} from "../views/words.ts";

export interface ConsentPage {
  readonly token: string;
  readonly requestId: string;
  /** A digest of what is shown, so that the decision counts for nothing else. */
  readonly offer: string;
  readonly email: string;
  readonly client: ShownClient;
  readonly scopes: readonly string[];
  readonly newScopes: readonly string[];
  readonly resources: readonly string[];
  readonly newResources: readonly string[];
  /** Of the resources, those that are clients. */
  readonly targets: Targets;
  /** How long the access lasts; a core of the previous release does not say. */
  readonly lifetimes: AccessLifetimes | undefined;
  readonly described: Described;
}

export function consentView(site: Site, language: Language, page: ConsentPage): Markup {
  const texts = consentTexts[language];
  const { client, token, requestId, email, scopes, newScopes, resources, newResources, targets, lifetimes, described } = page;
  const more = newScopes.length < scopes.length || newResources.length < resources.length;
  // Without new scopes the request adds resources, or asks for the page again: then all scopes are listed.
  const asked = newScopes.length > 0 ? newScopes : scopes;
  const places = resources.map((resource) => shownTarget(language, resource, targets));
  const known = scopes.filter((scope) => !asked.includes(scope));
  return layout(
    site,
    { language, title: texts.title(client.name) },
    html`<section class="card">
<p class="avatar" aria-hidden="true">${initial(client.name)}</p>
<h1 class="centred"><bdi>${client.name}</bdi> ${heading(texts, page)}</h1>
${client.nameUnverified && html`<p class="name-note"><span class="tag tag-new">${clientTexts[language].nameUnverified}</span></p>`}
<p class="who">${texts.signedInAs} <strong>${email}</strong>. <a href="${site.path("/login?switch=1", { requestId })}">${texts.otherAccount}</a></p>
${facts(language, client)}
${warning(language, client)}
${
  asked.length > 0 &&
  html`<h2>${known.length > 0 ? texts.ableAlso : texts.able}</h2>
<ul class="grants">${scopeItems(language, asked, described, places)}</ul>`
}
${
  resources.length > 0 &&
  html`<h2>${texts.resources}</h2>
<ul class="places">${resources.map((resource) => placeItem(language, resource, targets, more && newResources.includes(resource)))}</ul>`
}
${
  known.length > 0 &&
  html`<h2>${texts.known}</h2>
<ul class="known">${known.map((scope) => knownItem(scopeWords(language, scope, described)))}</ul>`
}
${lifetimes && html`<h2>${texts.howLong}</h2><p class="how-long">${howLong(language, lifetimes)}</p>`}
<form method="post" action="${site.path("/consent")}" class="decide">
${hidden(token, { requestId })}
<input type="hidden" name="offer" value="${page.offer}">
<button class="button button-deny" type="submit" name="decision" value="deny">${texts.deny}</button>
<button class="button" type="submit" name="decision" value="approve">${texts.allow}</button>
</form>
<p class="small">${texts.removable} <a href="${site.path("/account")}">${texts.accountPage}</a>.</p>
</section>`,
  );
}

function heading(texts: ConsentTexts, { scopes, newScopes, resources, newResources }: ConsentPage): string {
  if (newScopes.length + newResources.length === 0) return texts.asksAgain;
  return newScopes.length < scopes.length || newResources.length < resources.length ? texts.asksMore : texts.asks;
}

const initial = (name: string): string => /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? "?";

function facts(language: Language, { verifiedHost, returnHost, onThisDevice, deviceAddress, environment }: ShownClient): Markup {
  const texts = clientTexts[language];
  const stage = environment === "development" || environment === "staging" ? texts.stages[environment] : undefined;
  return html`<dl class="facts">
${verifiedHost !== undefined && html`<div><dt>${texts.publishedBy}</dt><dd><span class="host">${verifiedHost}</span> <span class="tag tag-good">${texts.verified}</span></dd></div>`}
${returnHost !== undefined && html`<div><dt>${texts.sendsBackTo}</dt><dd><span class="host">${returnHost}</span>${onThisDevice && ` (${texts.thisDevice})`}</dd></div>`}
${deviceAddress !== undefined && html`<div><dt>${texts.askedFrom}</dt><dd><span class="host">${deviceAddress}</span></dd></div>`}
${stage !== undefined && html`<div><dt>${texts.stage}</dt><dd><span class="tag">${stage}</span></dd></div>`}
</dl>`;
}

/** What the user should know before trusting the name: one sentence at most, the one that matters most. */
function warning(language: Language, { verifiedHost, onThisDevice, deviceAddress, openRegistration }: ShownClient): Part {
  const { deviceCaution, otherDeviceCaution, unverifiedCaution } = clientTexts[language];
  const caution =
    (deviceAddress !== undefined && otherDeviceCaution) ||
    (onThisDevice && deviceCaution) ||
    (openRegistration && verifiedHost === undefined && unverifiedCaution);
  return caution && html`<p class="caution" role="note">${caution}</p>`;
}

function howLong(language: Language, { accessToken, refreshToken, refreshFamilyMax }: AccessLifetimes): string {
  const { eachTime, lasting } = consentTexts[language];
  const words = (seconds: number) => shownDuration(language, seconds);
  if (refreshToken === undefined || refreshFamilyMax === undefined) return eachTime(words(accessToken));
  return lasting(words(refreshFamilyMax), words(Math.min(refreshToken, refreshFamilyMax)));
}

/** One item for each scope with a description; several without one share an item that opens. */
function scopeItems(language: Language, scopes: readonly string[], described: Described, places: readonly string[]): Part {
  const plain = scopes.filter((scope) => !isDescribed(scope, described));
  const item = (scope: string) => scopeItem(scopeWords(language, scope, described, places));
  if (plain.length < 2) return scopes.map(item);
  const { detail } = scopeWords(language, plain[0] ?? "", described, places);
  const { permissions } = consentTexts[language];
  return [
    ...scopes.filter((scope) => !plain.includes(scope)).map(item),
    html`<li><details><summary class="grant-title">${permissions(plain.length)}</summary>
<ul class="known">${plain.map((scope) => html`<li><bdi>${scope}</bdi></li>`)}</ul></details><p class="grant-detail">${detail}</p></li>`,
  ];
}

const scopeItem = ({ title, titleIn, detail, detailIn }: ScopeWords): Markup =>
  html`<li><p class="grant-title"><bdi${lang(titleIn)}>${title}</bdi></p>${
    detail !== "" && html`<p class="grant-detail"${lang(detailIn)}>${detail}</p>`
  }</li>`;

const lang = (language: Language | undefined): Part => language !== undefined && html` lang="${language}"`;

function knownItem({ title, titleIn }: ScopeWords): Markup {
  return html`<li><bdi${lang(titleIn)}>${title}</bdi></li>`;
}

function placeItem(language: Language, resource: string, targets: Targets, isNew: boolean): Markup {
  const { isNew: newWord, mayAct, mayUse } = consentTexts[language];
  const target = targets.get(resource);
  const words = shownTarget(language, resource, targets);
  const tag = isNew && html` <span class="tag tag-new">${newWord}</span>`;
  if (target === undefined || target.hasRecord) return html`<li><span class="host">${words}</span>${tag}</li>`;
  return html`<li><p class="grant-title"><bdi>${words}</bdi>${tag}</p>
<p class="grant-detail">${target.isAgent ? mayAct : mayUse} <span class="host">${shownText(resource)}</span></p></li>`;
}

const consentTexts = catalogue({
  en: {
    title: (name: string) => `Allow ${name}?`,
    /** After the name of the application. */
    asks: "asks for access",
    asksMore: "asks for more access",
    /** Everything was allowed before. */
    asksAgain: "asks for access again",
    signedInAs: "You are signed in as",
    otherAccount: "Use another account",
    /** Of scopes without a description. */
    permissions: (count: number) => `${count} permissions`,
    able: "This will let it",
    ableAlso: "It now also wants to",
    known: "Already allowed",
    resources: "Works only with",
    howLong: "For how long",
    /** Of a client that gets no refresh token. */
    eachTime: (access: string) => `For ${access} after each sign-in.`,
    /** Of a client that gets refresh tokens: its longest duration, and the time without use after which it ends. */
    lasting: (most: string, idle: string) => `Until you remove it, for up to ${most}. Ends after ${idle} without use.`,
    isNew: "New",
    /** Of an agent among the resources. */
    mayAct: "Can act for you within what you allow here. It can hand tasks only to agents that are listed here too.",
    mayUse: "Can see what you allow here.",
    deny: "Deny",
    allow: "Allow",
    /** Before the link to the account page, which ends the sentence. */
    removable: "You can remove access at any time on",
    accountPage: "your account page",
  },
  de: {
    title: (name) => `${name} den Zugriff erlauben?`,
    asks: "bittet um Zugriff",
    asksMore: "bittet um weiteren Zugriff",
    asksAgain: "bittet erneut um Zugriff",
    signedInAs: "Sie sind angemeldet als",
    otherAccount: "Anderes Konto verwenden",
    permissions: (count) => `${count} Berechtigungen`,
    able: "Das erlauben Sie damit",
    ableAlso: "Das kommt hinzu",
    known: "Schon erlaubt",
    resources: "Gilt nur bei",
    howLong: "Wie lange",
    eachTime: (access) => `Nach jeder Anmeldung für ${access}.`,
    lasting: (most, idle) => `Bis Sie den Zugriff entfernen, höchstens ${most}. Endet, wenn er ${idle} lang nicht genutzt wird.`,
    isNew: "Neu",
    mayAct:
      "Kann im Rahmen dessen, was Sie hier erlauben, für Sie handeln. Aufgaben kann er nur an Agenten weitergeben, die auch hier stehen.",
    mayUse: "Kann sehen, was Sie hier erlauben.",
    deny: "Ablehnen",
    allow: "Erlauben",
    removable: "Entfernen können Sie den Zugriff jederzeit auf",
    accountPage: "Ihrer Kontoseite",
  },
});

type ConsentTexts = (typeof consentTexts)["en"];
