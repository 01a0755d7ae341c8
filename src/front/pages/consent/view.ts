import type { AccessLifetimes } from "../../../gen/countersign/token/v1/token_pb.ts";
import type { ShownRecord } from "../../../resources/ports.ts";
import { type Language, shownDuration, shownList, type Texts } from "../../../texts/languages.ts";
import { type HostedPage, hidden, html, type Markup, type Part, type Writing } from "../views/layout.ts";
import {
  type Described,
  isDescribed,
  type Names,
  type ShownClient,
  scopeWords,
  shownTarget,
  shownText,
  type Targets,
} from "../views/words.ts";

type Asked = Readonly<Record<"scopes" | "newScopes" | "resources" | "newResources", readonly string[]>>;

export interface ConsentPage extends Asked, Names {
  readonly token: string;
  readonly requestId: string;
  /** A digest of what is shown, so that the decision counts for nothing else. */
  readonly offer: string;
  readonly email: string;
  readonly client: ShownClient;
  /** How long the access lasts; a core of the previous release does not say. */
  readonly lifetimes: AccessLifetimes | undefined;
}

export function consentView(writing: Writing, page: ConsentPage): HostedPage {
  const { site, language } = writing;
  const { consent: texts, client: clientTexts, words } = writing.texts;
  const { client, token, requestId, email, scopes, newScopes, resources, newResources, targets, lifetimes, described } = page;
  const more = newScopes.length < scopes.length || newResources.length < resources.length;
  const isNew = newScopes.length + newResources.length > 0;
  const heading = isNew ? (more ? texts.asksMore : texts.asks) : texts.asksAgain;
  // Without new scopes the request adds resources, or asks for the page again: then all scopes are listed.
  const asked = newScopes.length > 0 ? newScopes : scopes;
  const known = scopes.filter((scope) => !asked.includes(scope));
  return {
    title: texts.title(client.name),
    content: html`<section class="card consent">
<div class="asking">
<p class="avatar" aria-hidden="true">${/[\p{L}\p{N}]/u.exec(client.name)?.[0].toUpperCase() ?? "?"}</p>
<h1>${clientHeading(clientTexts, client)} ${heading}</h1>
</div>
${identity(clientTexts, client)}
<p class="who">${words.signedInAs} <strong>${email}</strong>. <a href="${site.path("/login?switch=1", { requestId })}">${texts.otherAccount}</a></p>
${warning(clientTexts, client)}
${asked.length > 0 && html`<h2>${known.length > 0 ? texts.ableAlso : texts.able}</h2>`}
${permissions(writing, page, asked)}
${
  resources.length > 0 &&
  html`<h2 class="label">${texts.resources}</h2>
<ul class="places">${resources.map((resource) => placeItem(writing, resource, targets, more && newResources.includes(resource)))}</ul>`
}
${
  known.length > 0 &&
  html`<h2 class="label">${texts.known}</h2>
<ul class="known">${known.map((scope) => {
    const { title, titleIn } = scopeWords(language, scope, described);
    return html`<li><bdi${lang(titleIn)}>${title}</bdi></li>`;
  })}</ul>`
}
${lifetimes && html`<h2 class="label">${texts.howLong}</h2><p class="how-long">${howLong(writing, lifetimes)}</p>`}
<form method="post" action="${site.path("/consent")}" class="decide">
${hidden(token, { requestId })}
<input type="hidden" name="offer" value="${page.offer}">
<button class="button button-deny" type="submit" name="decision" value="deny">${texts.deny}</button>
<button class="button" type="submit" name="decision" value="approve" data-decides>${texts.allow}</button>
</form>
<p class="small">${texts.removable} <a href="${site.path("/account")}">${texts.accountPage}</a>.</p>
</section>`,
  };
}

/** The name, and on the same line the host that published the application's document, which is proved. */
function clientHeading({ from, verified }: Texts["client"], { name, verifiedHost }: ShownClient): Markup {
  if (verifiedHost === undefined) return html`<bdi>${name}</bdi>`;
  const proof = html`<span class="proved" role="img" aria-label="${verified}">\u2713</span>`;
  return html`<span class="asker"><bdi>${name}</bdi>, <span class="from">${from} <span class="host">${verifiedHost}</span>\u00a0${proof}</span></span>`;
}

/** What else is known of the application, on one line: whether its name is verified, its stage, and where the answer goes. */
function identity(texts: Texts["client"], client: ShownClient): Part {
  const { verifiedHost, returnHost, onThisDevice, deviceAddress, environment } = client;
  const stage = environment === "development" || environment === "staging" ? texts.stages[environment] : undefined;
  const parts: readonly Part[] = [
    client.nameUnverified && verifiedHost === undefined && html`<span class="tag tag-new">${texts.nameUnverified}</span>`,
    stage !== undefined && html`<span class="tag">${stage}</span>`,
    returnHost !== undefined &&
      returnHost !== verifiedHost &&
      html`<span>${texts.sendsBackTo} <span class="host">${returnHost}</span>${onThisDevice && ` (${texts.thisDevice})`}</span>`,
    deviceAddress !== undefined && html`<span>${texts.askedFrom} <span class="host">${deviceAddress}</span></span>`,
  ];
  return parts.some(Boolean) && html`<p class="identity">${parts.map((part) => part && html`${part} `)}</p>`;
}

/** The permissions: those of no resource first, then those of each resource below its name. */
function permissions(writing: Writing, { resources, records, targets, described, lifetimes }: ConsentPage, asked: readonly string[]): Part {
  const shown = lifetimes === undefined ? asked : withoutLasting(asked);
  return permissionGroups(shown, resources, records).map(({ resource, scopes }) => {
    const places = (resource === undefined ? resources : [resource]).map((one) => shownTarget(writing.language, one, targets));
    return html`${resource !== undefined && html`<h3 class="grants-of"><bdi>${places[0]}</bdi></h3>`}
<ul class="grants">${scopeItems(writing, scopes, described, places)}</ul>`;
  });
}

/** What the user should know before trusting the name: one sentence at most, the one that matters most. */
function warning(texts: Texts["client"], { verifiedHost, onThisDevice, deviceAddress, openRegistration }: ShownClient): Part {
  const caution =
    (deviceAddress !== undefined && texts.otherDeviceCaution) ||
    (onThisDevice && texts.deviceCaution) ||
    (openRegistration && verifiedHost === undefined && texts.unverifiedCaution);
  return caution && html`<p class="caution" role="note">${caution}</p>`;
}

function howLong({ language, texts }: Writing, { accessToken, refreshToken, refreshFamilyMax }: AccessLifetimes): string {
  const { eachTime, lasting } = texts.consent;
  if (refreshToken === undefined || refreshFamilyMax === undefined) return eachTime(shownDuration(language, accessToken));
  return lasting(shownDuration(language, refreshFamilyMax), shownDuration(language, Math.min(refreshToken, refreshFamilyMax)));
}

/** One item for each scope with a description; several without one share an item that shows their names, and opens where these are too long. */
function scopeItems({ language, texts }: Writing, scopes: readonly string[], described: Described, places: readonly string[]): Part {
  const plain = scopes.filter((scope) => !isDescribed(scope, described));
  const item = (scope: string): Markup => {
    const { title, titleIn, detail, detailIn } = scopeWords(language, scope, described, places);
    return html`<li><p class="grant-title"><bdi${lang(titleIn)}>${title}</bdi></p>${
      detail !== "" && html`<p class="grant-detail"${lang(detailIn)}>${detail}</p>`
    }</li>`;
  };
  if (plain.length < 2) return scopes.map(item);
  const { firstPartyPermissions, permissionsAt } = texts.scopes;
  const names = plain.map((scope, index) => html`${index > 0 && ", "}<bdi>${scope}</bdi>`);
  return [
    ...scopes.filter((scope) => !plain.includes(scope)).map(item),
    html`<li><details><summary class="grant-title names">${names}</summary>
<ul class="known">${plain.map((scope) => html`<li><bdi>${scope}</bdi></li>`)}</ul></details><p class="grant-detail">${
      places.length === 0 ? firstPartyPermissions : permissionsAt(shownList(language, places))
    }</p></li>`,
  ];
}

const lang = (language: Language | undefined): Part => language !== undefined && html` lang="${language}"`;

function placeItem({ language, texts }: Writing, resource: string, targets: Targets, isNew: boolean): Markup {
  const { isNew: newWord, mayAct, mayUse } = texts.consent;
  const target = targets.get(resource);
  const words = shownTarget(language, resource, targets);
  const tag = isNew && html` <span class="tag tag-new">${newWord}</span>`;
  if (target === undefined || target.hasRecord) return html`<li><span class="host">${words}</span>${tag}</li>`;
  return html`<li><p class="grant-title"><bdi>${words}</bdi>${tag}</p>
<p class="grant-detail">${target.isAgent ? mayAct : mayUse} <span class="host">${shownText(resource)}</span></p></li>`;
}

/**
 * Scopes by the resources that offer them. With one resource or none they are one group, for then all of them are for it. Pure.
 * @param records of the resources
 * @returns scopes that stand together, and the resource whose record offers them; undefined for those of no resource
 */
export function permissionGroups(
  scopes: readonly string[],
  resources: readonly string[],
  records: readonly Pick<ShownRecord, "resource" | "scopes">[],
) {
  const resourceOf = (scope: string) => records.find((record) => record.scopes.some(({ name }) => name === scope))?.resource;
  const groups = Map.groupBy(scopes, (scope) => (resources.length < 2 ? undefined : resourceOf(scope)));
  return [undefined, ...resources].flatMap((resource) => {
    const own = groups.get(resource) ?? [];
    return own.length === 0 ? [] : [{ resource, scopes: own }];
  });
}

/** Scopes without `offline_access`, which the duration of the access says already, unless it is the only one. Pure. */
export function withoutLasting(scopes: readonly string[]): readonly string[] {
  const others = scopes.filter((scope) => scope !== "offline_access");
  return others.length > 0 ? others : scopes;
}
