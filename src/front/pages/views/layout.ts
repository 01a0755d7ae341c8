import type { Caller } from "../../../accounts/caller.ts";
import { type Branding, type Brandings, DEFAULT_NAME, supportLink } from "../../../branding/branding.ts";
import { directionIn, LANGUAGES, type Language, shownDay, shownMoment, TEXTS, type Texts } from "../../../texts/languages.ts";
import { pageHeaders, SCRIPTED_POLICY } from "../../http/answers.ts";
import { callerOf } from "../../http/caller.ts";
import { FORM_TOKEN } from "../../http/cookies.ts";
import type { FrontContext, FrontState } from "../../http/routes.ts";
import { MARK, PAGE_SCRIPT, STYLE } from "../assets.ts";
import { brandFiles } from "../brand-files.ts";
import { SECTIONS } from "./sections.ts";

export type Site = Readonly<ReturnType<typeof siteOf>>;

/** @param issuer base URL; links are built from nothing else  @param wallets whether wallets can be linked */
export function siteOf(issuer: string, brandings: Brandings, wallets = false) {
  const { host, pathname } = new URL(issuer);
  const base = pathname.replace(/\/$/, "");
  return {
    host,
    brandings,
    /** The account pages that this server has, in the order of the navigation. */
    sections: SECTIONS.filter(({ forWallets }) => !forWallets || wallets),
    /** A path below the issuer's path, which may have a query, with the destination of the user. */
    path(path: string, returnTo?: ReturnTo): string {
      const member = returnTo && returnToMember(returnTo);
      if (member === undefined) return base + path;
      return `${base}${path}${path.includes("?") ? "&" : "?"}${member[0]}=${encodeURIComponent(member[1])}`;
    },
  };
}

/** Where a user was going before they had to sign in, sign up or open a mail: an application's pending request, or an account page. */
export interface ReturnTo {
  readonly requestId?: string | undefined;
  /** The path of an account page other than the first, or the link to a new address. */
  readonly next?: string | undefined;
}

/** The member that passes it on in a query or a form; undefined without a destination. Pure. */
export function returnToMember({ requestId, next }: ReturnTo): readonly [name: string, value: string] | undefined {
  if (requestId !== undefined) return ["request", requestId];
  return next === undefined ? undefined : ["next", next];
}

/** HTML text. Only `html` makes it, so that any other text in a page is escaped. */
export class Markup {
  declare readonly text: string; // without a field to define at each of the many instances

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template of HTML; false, null and undefined print nothing. */
export type Part = Markup | string | number | false | null | undefined | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function print(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (part === false || part === null || part === undefined) return "";
  if (typeof part === "string") return part.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
  if (typeof part === "number") return String(part);
  return part.map(print).join("");
}

/** A template of HTML. Every value in it is escaped; attributes must be quoted. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  let text = "";
  for (let index = 0; index < pieces.length; index++) text += pieces[index] + print(parts[index]);
  return new Markup(text);
}

/** For which site, and in which language, a page is written. */
export interface Writing {
  readonly site: Site;
  readonly language: Language;
  readonly texts: Texts;
}

/** A page that is not printed yet: what surrounds its content depends on the request too. */
export interface HostedPage {
  readonly title: string;
  /** Faults of the form on the page. The title of the page names them first, for screen readers. */
  readonly faults?: readonly Fault[] | undefined;
  /** `wide` for pages with lists, `narrow` for a single form or notice. */
  readonly width?: "narrow" | "wide";
  /** At the top right, for signed-in users, after their address and the link to the console. */
  readonly aside?: Part;
  /** Additional elements of the page's head: its script, which may send requests to this server. */
  readonly head?: Part;
  readonly content: Part;
}

type Surroundings = Pick<FrontState, "sameInLanguage" | "realmId" | "signedInAs" | "hasConsole">;

export function printPage({ site, language, texts }: Writing, page: HostedPage, around: Surroundings = {}): string {
  const { sameInLanguage, realmId, signedInAs, hasConsole } = around;
  const { title, faults = [], width = "narrow", aside, head, content } = page;
  const branding = site.brandings.of(realmId);
  const isBranded = (branding.name ?? branding.logo ?? branding.accent) !== undefined;
  const { logo, style } = isBranded ? brandFiles(branding) : {};
  const name = branding.name ?? DEFAULT_NAME;
  return html`<!doctype html>
<html lang="${language}"${directionIn(language) === "rtl" && html` dir="rtl"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${faults.length > 0 ? texts.frame.faultyTitle(title) : title} · ${name}</title>
<link rel="icon" href="${site.path(logo?.path ?? MARK.path)}" type="${logo?.type ?? "image/svg+xml"}">
<link rel="stylesheet" href="${site.path(STYLE.path)}">
${style !== undefined && html`<link rel="stylesheet" href="${site.path(style.path)}">`}
<script type="module" src="${site.path(PAGE_SCRIPT.path)}"></script>
${head}
</head>
<body>
<div class="page page-${width}">
<header class="top">
<a class="brand" href="${site.path("/account")}"><img src="${site.path(logo?.path ?? MARK.path)}" alt="" height="28"${logo === undefined && html` width="28"`}><span>${name}</span></a>
${aside !== undefined && html`<div class="top-links">${signedInAs !== undefined && html`<bdi class="whose" title="${texts.words.signedInAs} ${signedInAs}">${signedInAs}</bdi>`}${hasConsole && html`<a class="top-link" href="${site.path("/console")}">${texts.accountNav.console}</a>`}${aside}</div>`}
</header>
<main>
${content}
</main>
<footer class="foot"><p>${texts.frame.youAreAt} <strong>${site.host}</strong></p>
${(branding.termsUrl ?? branding.privacyUrl ?? branding.support) !== undefined && brandLinks(language, branding)}
${sameInLanguage !== undefined && languageChoice(language, sameInLanguage)}</footer>
</div>
</body>
</html>
`.text;
}

function brandLinks(language: Language, { termsUrl, privacyUrl, support }: Branding): Markup {
  const { terms, privacy, support: ask } = TEXTS[language].branding;
  const links = [
    [terms, termsUrl],
    [privacy, privacyUrl],
    [ask, support && supportLink(support)],
  ].flatMap(([label, href]) => (href === undefined ? [] : [html`<li><a href="${href}">${label}</a></li>`]));
  return html`<ul class="foot-links">${links}</ul>`;
}

function languageChoice(shown: Language, sameInLanguage: string): Markup {
  const links: Markup[] = [];
  for (const language of LANGUAGES) {
    const { name } = TEXTS[language];
    if (language === shown) links.push(html`<li><span aria-current="true">${name}</span></li>`);
    else links.push(html`<li><a href="${sameInLanguage}${language}" lang="${language}" hreflang="${language}">${name}</a></li>`);
  }
  return html`<nav aria-label="${TEXTS[shown].frame.language}"><ul class="foot-links">${links}</ul></nav>`;
}

/** The hidden members that bind a form to this browser and pass on where the user is going. */
export function hidden(token: string, returnTo?: ReturnTo): Markup {
  const member = returnTo && returnToMember(returnTo);
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${token}">
${member !== undefined && html`<input type="hidden" name="${member[0]}" value="${member[1]}">`}`;
}

interface Button {
  readonly words: string;
  /** Distinguishes the button for screen readers from others with the same words. */
  readonly label?: string;
  /** What the form is about, as a hidden member. */
  readonly member?: readonly [name: string, value: string];
}

/** A form of one button. @param action the path to post to  @param token binds the form to this browser */
export const buttonForm = (
  action: string,
  token: string,
  { words, label, member }: Button,
): Markup => html`<form method="post" action="${action}">
${hidden(token)}
${member !== undefined && html`<input type="hidden" name="${member[0]}" value="${member[1]}">`}
<button class="button button-quiet" type="submit"${label !== undefined && html` aria-label="${label}"`}>${words}</button>
</form>`;

/** Whose password a form takes, for password managers. It has no name, so it is not sent. */
export const accountName = (email: string): Markup => html`<input type="email" autocomplete="username" value="${email}" readonly hidden>`;

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: "email" | "password" | "text";
  readonly autocomplete: string;
  /** For a keyboard of digits alone. */
  readonly inputmode?: "numeric";
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  readonly optional?: boolean;
  readonly autofocus?: boolean;
}

/**
 * A labelled input with its hint and its fault; screen readers read both. A script can show a password, which a browser may then send to a
 * spelling checker, as it may send codes. @param faults of the form
 */
export function field(
  language: Language,
  faults: readonly Fault[],
  { name, label, type, autocomplete, inputmode, value, hint, optional, autofocus }: Field,
): Markup {
  const error = faults.find((fault) => fault.field === name)?.message;
  const described = [hint !== undefined && `${name}-hint`, error !== undefined && `${name}-error`].filter(Boolean).join(" ");
  return html`<div class="field${error !== undefined && " field-bad"}">
<label id="${name}-label" for="${name}">${label}${optional && html` <span class="optional">${TEXTS[language].frame.optional}</span>`}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${error !== undefined && html`<p class="fault" id="${name}-error">${error}</p>`}
<div class="input"><input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${inputmode && html` inputmode="${inputmode}"`}${value !== undefined && html` value="${value}"`}${
    described !== "" && html` aria-describedby="${described}"`
  }${error !== undefined && html` aria-invalid="true"`}${!optional && html` required`}${autofocus && html` autofocus`}${type === "email" && html` autocapitalize="none"`} spellcheck="false">${type === "password" && revealButton(language, name)}</div>
</div>`;
}

/** Shows the password in an input. Only a script can press it, so it is hidden until there is one. */
function revealButton(language: Language, input: string): Markup {
  const { show, hide } = TEXTS[language].frame;
  return html`<button class="reveal" type="button" hidden aria-controls="${input}" aria-describedby="${input}-label" data-show="${show}" data-hide="${hide}">${show}</button>`;
}

export interface Fault {
  /** The field that is at fault; none for the form as a whole. */
  readonly field?: string | undefined;
  readonly message: string;
}

/** What a form shows after a refusal that the user can correct; nothing the first time. */
export type FailedForm = { readonly faults?: readonly Fault[]; readonly status?: number };

/** The faults at the head of a form, each with a link to its field. */
export const faultSummary = (language: Language, faults: readonly Fault[]): Part =>
  faults.length > 0 &&
  html`<div class="summary" role="alert" tabindex="-1">
<h2>${TEXTS[language].frame.problem}</h2>
<ul>${faults.map(({ field: name, message }) => html`<li>${name === undefined ? message : html`<a href="#${name}">${message}</a>`}</li>`)}</ul>
</div>`;

/** A day in UTC, which a script turns into the user's. @param seconds since the epoch */
export const day = (language: Language, seconds: number): Markup =>
  html`<time data-shows="day" datetime="${new Date(seconds * 1000).toISOString()}">${shownDay(language, seconds)}</time>`;

/** A day and time in UTC, which a script turns into the user's. @param seconds since the epoch */
export const moment = (language: Language, seconds: number): Markup =>
  html`<time data-shows="moment" datetime="${new Date(seconds * 1000).toISOString()}">${shownMoment(language, seconds)}</time>`;

/** A request that a page answers, in the language of its answer. */
export interface Asked extends Writing {
  readonly ctx: FrontContext;
}

/** The same for what answers it, with the caller. */
export function askedOf<Kit extends { readonly site: Site }>(kit: Kit, ctx: FrontContext): Kit & Asked & { readonly caller: Caller } {
  const caller = callerOf(ctx);
  const { language } = caller;
  return { ...kit, ctx, caller, language, texts: TEXTS[language] };
}

export function sendPage(asked: Asked, page: HostedPage, status = 200): void {
  const { ctx, language } = asked;
  pageHeaders(ctx, page.head ? SCRIPTED_POLICY : undefined);
  ctx.status = status;
  if (status === 401) ctx.set("WWW-Authenticate", "Session"); // required with each 401 (RFC 9110 §15.5.2); browsers know no such scheme
  ctx.set("Content-Type", "text/html; charset=utf-8");
  ctx.set("Content-Language", language);
  ctx.vary("Accept-Language, Cookie");
  ctx.body = printPage(asked, page, ctx.state);
}
