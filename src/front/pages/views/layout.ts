import { FORM_TOKEN } from "../../http/form-guard.ts";
import { pageHeaders } from "../../http/headers.ts";
import type { FrontContext } from "../../http/routes.ts";
import { catalogue, type Language, languageOf, shownDay, shownMoment } from "../../texts/language.ts";
import { MARK, ONCE_SCRIPT, STYLE } from "../assets.ts";
import { html, type Markup, type Part } from "../html.ts";
import { type ReturnTo, returnToMembers, type Site } from "../site.ts";

export interface Frame {
  readonly language: Language;
  readonly title: string;
  /** `wide` for pages with lists, `narrow` for a single form or notice. */
  readonly width?: "narrow" | "wide";
  /** At the top right, for signed-in users. */
  readonly aside?: Part;
  /** Additional elements of the page's head. */
  readonly head?: Part;
}

/** The frame around every page. */
export const layout = (site: Site, { language, title, width = "narrow", aside, head }: Frame, content: Part): Markup => html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Countersign</title>
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
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly optional?: boolean;
  readonly autofocus?: boolean;
}

/** A labelled input with its hint and its fault; screen readers read both. */
export function field(language: Language, { name, label, type, autocomplete, value, hint, error, optional, autofocus }: Field): Markup {
  const described = [hint !== undefined && `${name}-hint`, error !== undefined && `${name}-error`].filter((id) => id !== false).join(" ");
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

export const faultOf = (faults: readonly Fault[], name: string): string | undefined =>
  faults.find((fault) => fault.field === name)?.message;

/** The title of a page with a form: names a fault first, for screen readers. */
export const formTitle = (language: Language, title: string, faults: readonly Fault[]): string =>
  faults.length > 0 ? frameTexts[language].faultyTitle(title) : title;

const time = (seconds: number, shown: string): Markup => html`<time datetime="${new Date(seconds * 1000).toISOString()}">${shown}</time>`;

/** A day in UTC. @param seconds since the epoch */
export const day = (language: Language, seconds: number): Markup => time(seconds, shownDay(language, seconds));

/** A day and time in UTC. @param seconds since the epoch */
export const moment = (language: Language, seconds: number): Markup => time(seconds, shownMoment(language, seconds));

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
