import type { SignedIn } from "../../../accounts/ports.ts";
import { FORM_TOKEN } from "../../http/cookies.ts";
import { pageHeaders } from "../../http/headers.ts";
import type { FrontContext } from "../../http/routes.ts";
import { type Catalogue, catalogue, type Language, languageOf, shownDay, shownMoment } from "../../texts/language.ts";
import { MARK, ONCE_SCRIPT, STYLE } from "../assets.ts";

/** How pages refer to the service. */
export type Site = Readonly<ReturnType<typeof siteOf>>;

/** @param issuer base URL; links are built from nothing else  @param wallets whether wallets can be linked */
export function siteOf(issuer: string, wallets = false) {
  const { host, pathname } = new URL(issuer);
  const base = pathname.replace(/\/$/, "");
  return {
    host,
    /** The account pages that this server has, in the order of the navigation. */
    sections: SECTIONS.filter(({ forWallets }) => !forWallets || wallets),
    /** A path below the issuer's path, which may have a query, with the destination of the user. */
    path(path: string, returnTo: ReturnTo = {}): string {
      const members = returnToMembers(returnTo).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
      return base + path + members.map((member) => (path.includes("?") ? "&" : "?") + member).join("");
    },
  };
}

/** Where a user was going before they had to sign in, sign up or open a mail: an application's pending request, or an account page. */
export interface ReturnTo {
  readonly requestId?: string | undefined;
  /** The path of an account page other than the first. */
  readonly next?: string | undefined;
}

/** The members that pass it on in a query or a form. Pure. */
export function returnToMembers({ requestId, next }: ReturnTo): readonly (readonly [name: string, value: string])[] {
  if (requestId !== undefined) return [["request", requestId]];
  return next === undefined ? [] : [["next", next]];
}

/** HTML text. Only `html` makes it, so that any other text in a page is escaped. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template of HTML; false, null and undefined print nothing. */
export type Part = Markup | string | number | false | null | undefined | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escapeText = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");

function print(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (part === false || part === null || part === undefined) return "";
  if (typeof part === "string") return escapeText(part);
  if (typeof part === "number") return String(part);
  return part.map(print).join("");
}

/** A template of HTML. Every value in it is escaped; attributes must be quoted. */
export const html = (pieces: TemplateStringsArray, ...parts: readonly Part[]): Markup =>
  new Markup(pieces.map((piece, index) => piece + print(parts[index])).join(""));

export interface Frame {
  readonly language: Language;
  readonly title: string;
  /** Faults of the form on the page. The title of the page names them first, for screen readers. */
  readonly faults?: readonly Fault[] | undefined;
  /** `wide` for pages with lists, `narrow` for a single form or notice. */
  readonly width?: "narrow" | "wide";
  /** At the top right, for signed-in users. */
  readonly aside?: Part;
  /** Additional elements of the page's head. */
  readonly head?: Part;
}

/** The frame around every page. */
export const layout = (
  site: Site,
  { language, title, faults = [], width = "narrow", aside, head }: Frame,
  content: Part,
): Markup => html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${faults.length > 0 ? frameTexts[language].faultyTitle(title) : title} · Countersign</title>
<link rel="icon" href="${site.path(MARK.path)}" type="image/svg+xml">
<link rel="stylesheet" href="${site.path(STYLE.path)}">
<script src="${site.path(ONCE_SCRIPT.path)}" defer></script>
${head}
</head>
<body>
<div class="page page-${width}">
<header class="top">
<a class="brand" href="${site.path("/account")}"><img src="${site.path(MARK.path)}" alt="" width="28" height="28"><span>Countersign</span></a>
${aside}
</header>
<main>
${content}
</main>
<footer class="foot"><p>${frameTexts[language].youAreAt} <strong>${site.host}</strong></p></footer>
</div>
</body>
</html>
`;

/** The hidden members that bind a form to this browser and pass on where the user is going. */
export const hidden = (token: string, returnTo: ReturnTo = {}): Markup => html`<input type="hidden" name="${FORM_TOKEN}" value="${token}">
${returnToMembers(returnTo).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;

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

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: "email" | "password" | "text";
  readonly autocomplete: string;
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  readonly optional?: boolean;
  readonly autofocus?: boolean;
}

/** A labelled input with its hint and its fault; screen readers read both. @param faults of the form */
export function field(
  language: Language,
  faults: readonly Fault[],
  { name, label, type, autocomplete, value, hint, optional, autofocus }: Field,
): Markup {
  const error = faults.find((fault) => fault.field === name)?.message;
  const described = [hint !== undefined && `${name}-hint`, error !== undefined && `${name}-error`].filter(Boolean).join(" ");
  return html`<div class="field${error !== undefined && " field-bad"}">
<label for="${name}">${label}${optional && html` <span class="optional">${frameTexts[language].optional}</span>`}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${error !== undefined && html`<p class="fault" id="${name}-error">${error}</p>`}
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${value !== undefined && html` value="${value}"`}${
    described !== "" && html` aria-describedby="${described}"`
  }${error !== undefined && html` aria-invalid="true"`}${!optional && html` required`}${autofocus && html` autofocus`}${
    type === "email" && html` spellcheck="false" autocapitalize="none"`
  }>
</div>`;
}

export interface Fault {
  /** The field that is at fault; none for the form as a whole. */
  readonly field?: string | undefined;
  readonly message: string;
}

/** What a page needs for a form that leads on to where the user is going. */
export interface FormPage {
  readonly token: string;
  readonly returnTo: ReturnTo;
  readonly email?: string | undefined;
  readonly faults: readonly Fault[];
}

/** The faults at the head of a form, each with a link to its field. */
export const faultSummary = (language: Language, faults: readonly Fault[]): Part =>
  faults.length > 0 &&
  html`<div class="summary" role="alert" tabindex="-1">
<h2>${frameTexts[language].problem}</h2>
<ul>${faults.map(({ field: name, message }) => html`<li>${name === undefined ? message : html`<a href="#${name}">${message}</a>`}</li>`)}</ul>
</div>`;

/** A day in UTC. @param seconds since the epoch */
export const day = (language: Language, seconds: number): Markup =>
  html`<time datetime="${new Date(seconds * 1000).toISOString()}">${shownDay(language, seconds)}</time>`;

/** A day and time in UTC. @param seconds since the epoch */
export const moment = (language: Language, seconds: number): Markup =>
  html`<time datetime="${new Date(seconds * 1000).toISOString()}">${shownMoment(language, seconds)}</time>`;

const frameTexts = catalogue({
  en: {
    /** Before the host, at the foot. */
    youAreAt: "You are at",
    optional: "(optional)",
    problem: "There is a problem",
    faultyTitle: (title: string) => `Error: ${title}`,
  },
  de: {
    youAreAt: "Sie sind bei",
    optional: "(freiwillig)",
    problem: "Das hat noch nicht geklappt",
    faultyTitle: (title) => `Fehler: ${title}`,
  },
});

/** Sends a page that is written in `languageOf(ctx)`. */
export function sendPage(ctx: FrontContext, page: Markup, status = 200): void {
  pageHeaders(ctx);
  ctx.status = status;
  ctx.set("Content-Type", "text/html; charset=utf-8");
  ctx.set("Content-Language", languageOf(ctx));
  ctx.vary("Accept-Language");
  ctx.body = page.text;
}

/** What every account page needs besides its content. */
export interface AccountPage {
  readonly signedIn: SignedIn;
  /** Of every form on the page. */
  readonly token: string;
  /** What was just done, from the redirect after a form. Untrusted: only known values may be shown. */
  readonly done: string | undefined;
}

interface AccountFrame extends Pick<Frame, "language" | "title" | "faults" | "head"> {
  /** The page that is shown. */
  readonly path: string;
  /** What was just done, in words. */
  readonly done?: string | undefined;
}

/** The frame around every account page. */
export function accountFrame(site: Site, { language, path, title, done, faults, head }: AccountFrame, content: Part): Markup {
  const texts = accountNavTexts[language];
  const link = (one: AccountSection) =>
    html`<li><a href="${site.path(one.path)}"${one.path === path && html` aria-current="page"`}>${one.label[language]}</a></li>`;
  return layout(
    site,
    {
      language,
      title,
      faults,
      width: "wide",
      head,
      aside: html`<a class="top-link" href="${site.path("/logout")}">${texts.signOut}</a>`,
    },
    html`<h1>${title}</h1>
<nav class="account-nav" aria-label="${texts.nav}">
<ul>${site.sections.map(link)}</ul>
</nav>
${done !== undefined && html`<p class="done" role="status">${done}</p>`}
${content}`,
  );
}

/** The text for what was just done; undefined for an unknown value. */
export const doneWords = (words: Readonly<Record<string, string>>, done: string | undefined): string | undefined =>
  done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;

/** `nav` names the list of account pages. */
const accountNavTexts = catalogue({ en: { nav: "Your account", signOut: "Sign out" }, de: { nav: "Ihr Konto", signOut: "Abmelden" } });

interface AccountSection {
  readonly path: string;
  readonly label: Catalogue<string>;
  /** Whether only a server that links wallets has the page. */
  readonly forWallets?: true;
}

/** The page after a sign-in without another destination. */
export const ACCOUNT_START = "/account";

const SECTIONS: readonly AccountSection[] = [
  { path: ACCOUNT_START, label: { en: "Profile and applications", de: "Profil und Anwendungen" } },
  { path: "/account/agents", label: { en: "Agents", de: "Agenten" } },
  { path: "/account/security", label: { en: "Security", de: "Sicherheit" } },
  { path: "/account/wallet", label: { en: "Wallet", de: "Wallet" }, forWallets: true },
  { path: "/account/delete", label: { en: "Delete account", de: "Konto löschen" } },
];
