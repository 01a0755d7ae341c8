import { BUILT_IN_SCOPES, type ScopeDescription, type Wording } from "../../../accounts/account.ts";
import type { User } from "../../../accounts/ports.ts";
import type { Authorization } from "../../../gen/countersign/token/v1/token_pb.ts";
import { LANGUAGES, type Language, shownList, TEXTS } from "../../../texts/languages.ts";
import type { UserPorts } from "../../user-ports.ts";
import { html, type Markup } from "./layout.ts";

/** What a page shows of the application that sent the request. */
export type ShownClient = Readonly<ReturnType<typeof shownClient>>;

export function shownClient(language: Language, { client, device }: Authorization, redirectUri: string) {
  const clientId = client?.clientId ?? "";
  return {
    name: shownName(language, client?.name ?? clientId),
    /** Host of a client_id that is a URL; verified, since the service fetched its document. */
    verifiedHost: client?.verifiedHost === undefined ? undefined : shownHost(`https://${client.verifiedHost}`),
    /** Where the browser goes back to; undefined for a device, which has no redirect URI. */
    returnHost: device === undefined ? shownHost(redirectUri) : undefined,
    onThisDevice: device === undefined && isOnThisDevice(redirectUri),
    deviceAddress: device === undefined ? undefined : shownText(device.address),
    environment: client?.environment,
    openRegistration: client?.openRegistration ?? true,
    /** Whether no operator has confirmed the name. */
    nameUnverified: (client?.openRegistration ?? true) || client?.environment === "development" || client?.environment === "staging",
  };
}

/** The name with its hosts: a name alone proves nothing, since anyone can choose any name. */
export const clientLine = (language: Language, { name, verifiedHost, returnHost }: ShownClient): Markup =>
  html`<strong class="client-name"><bdi>${name}</bdi></strong> <span class="hosts">(${
    verifiedHost !== undefined &&
    returnHost !== undefined &&
    verifiedHost !== returnHost &&
    html`<span class="host">${verifiedHost}</span>, ${TEXTS[language].client.backTo} `
  }<span class="host">${returnHost ?? verifiedHost ?? TEXTS[language].client.onADevice}</span>)</span>`;

/** Controls, bidirectional marks, joiners and other invisible characters that change how the rest reads. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** More combining marks on one letter than any script uses. */
const STACKED_MARKS = /(\p{M}{3})\p{M}+/gu;
const MAX_NAME = 80;

/** Untrusted text without characters that could imitate other text of the page. The template escapes it. */
export function shownText(text: string): string {
  const shown = [...text.toWellFormed().replace(INVISIBLE, "").replace(STACKED_MARKS, "$1").replace(/\s+/gu, " ").trim()];
  return shown.length > MAX_NAME ? `${shown.slice(0, MAX_NAME).join("")}…` : shown.join("");
}

/** The name that a client chose, or a replacement where it has no visible characters. */
export const shownName = (language: Language, name: string): string => shownText(name) || TEXTS[language].client.nameless;

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
const WEB_PROTOCOLS: ReadonlySet<string> = new Set(["https:", "http:"]);

/** The host of a URI in punycode; the scheme if it is a private-use one, since the app chooses what follows it (`app://bank.example`). */
export function shownHost(uri: string): string {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (!url) return shownText(uri);
  return WEB_PROTOCOLS.has(url.protocol) ? url.host : url.protocol;
}

/** A resource as it is shown: its host in punycode with the path, and the scheme where it is neither https nor on this device; or its name. */
export function shownResource(resource: string): string {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  const isPlain = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.has(url.hostname));
  if (!isPlain) return shownText(url?.href ?? resource);
  return url.host + (url.pathname === "/" ? "" : url.pathname) + url.search;
}

/** Clients among resources, by client_id, and resources with a record. */
export type Targets = ReadonlyMap<string, Target>;
type Target = { readonly name: string; readonly isAgent: boolean; readonly hasRecord?: true };

/**
 * What operators and developers say of what was allowed: descriptions of scopes, and names of clients and resources. The words of a resource's
 * own scopes come before the realm's.
 * @param clients those among the resources, where they are known
 */
export async function namesOf(
  ports: Pick<UserPorts, "scopeDescriptions" | "namedTargets" | "resources">,
  { realmId }: Pick<User, "realmId">,
  allowed: readonly { readonly scopes: readonly string[]; readonly resources: readonly string[] }[],
  clients?: Targets | Promise<Targets>,
) {
  const [scopes, resources] = [new Set<string>(), new Set<string>()];
  for (const access of allowed) {
    for (const scope of access.scopes) scopes.add(scope);
    for (const resource of access.resources) resources.add(resource);
  }
  const [ofRealm, named, records] = await Promise.all([
    ports.scopeDescriptions.of(realmId, [...scopes]),
    clients ?? ports.namedTargets([...resources]),
    ports.resources.shown(realmId, [...resources]),
  ]);
  const worded = records.flatMap(({ scopes }) => scopes.filter(({ title }) => Object.keys(title).length > 0));
  const described: Described = new Map([...ofRealm, ...worded.map((scope) => [scope.name, scope] as const)]);
  const recorded = records.map(({ resource, name }) => [resource, { name, isAgent: false, hasRecord: true }] as const);
  const targets: Targets = new Map<string, Target>([...named, ...recorded]);
  return { records, described, targets };
}

export type Names = Awaited<ReturnType<typeof namesOf>>;

/** A resource in words: one with a record by name and address, a client by name and kind, so that it cannot imitate an address. */
export function shownTarget(language: Language, resource: string, targets: Targets): string {
  const target = targets.get(resource);
  if (target === undefined) return shownResource(resource);
  if (target.hasRecord) return `${shownName(language, target.name)} (${shownResource(resource)})`;
  const { agent, application } = TEXTS[language].client;
  return (target.isAgent ? agent : application)(shownName(language, target.name));
}

/** Whether a redirect leads to a program on the user's device: any program there can listen on loopback or claim a private-use scheme. */
export function isOnThisDevice(uri: string): boolean {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  return url !== undefined && (LOOPBACK.has(url.hostname) || !WEB_PROTOCOLS.has(url.protocol));
}

export interface ScopeWords {
  readonly title: string;
  readonly detail: string;
  /** The languages that they are in, where that is not the page's (WCAG 2.2, 3.1.2). */
  readonly titleIn: Language | undefined;
  readonly detailIn: Language | undefined;
}

/** The text for a language, or in another one that exists, with that other language. Pure. */
function wordingFor(language: Language, wording: Wording): { readonly text: string; readonly language: Language | undefined } | undefined {
  for (const each of [language, ...LANGUAGES]) {
    const text = wording[each];
    if (text !== undefined) return { text, language: each === language ? undefined : each };
  }
  return undefined;
}

/** The scopes to show: without refresh tokens `offline_access` has no effect. @param hasRefreshTokens undefined where that is not known. Pure. */
export const effectiveScopes = (scopes: readonly string[], hasRefreshTokens: boolean | undefined): readonly string[] =>
  hasRefreshTokens === false ? scopes.filter((scope) => scope !== "offline_access") : scopes;

/** How the operators describe scopes, by name. */
export type Described = ReadonlyMap<string, ScopeDescription>;

const BUILT_IN: Described = new Map(BUILT_IN_SCOPES.map((scope) => [scope.name, scope]));
export const isDescribed = (scope: string, described: Described): boolean => described.has(scope) || BUILT_IN.has(scope);

/**
 * A scope in words: the operators' description, else the built-in one. A scope without a description keeps its name; its resources decide
 * what it allows. Pure.
 * @param resources of the access, in words; without any it is for the application itself
 */
export function scopeWords(language: Language, scope: string, described: Described, resources: readonly string[] = []): ScopeWords {
  const description = described.get(scope) ?? BUILT_IN.get(scope);
  const title = description && wordingFor(language, description.title);
  if (description !== undefined && title !== undefined) {
    const detail = wordingFor(language, description.detail);
    return { title: title.text, titleIn: title.language, detail: detail?.text ?? "", detailIn: detail?.language };
  }
  const { firstPartyPermission, permissionAt } = TEXTS[language].scopes;
  const detail = resources.length === 0 ? firstPartyPermission : permissionAt(shownList(language, resources));
  return { title: scope, titleIn: undefined, detail, detailIn: undefined };
}
