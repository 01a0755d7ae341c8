import { accountNavTexts } from "../../texts/account-nav.ts";
import type { Catalogue, Language } from "../../texts/language.ts";
import { html, type Markup, type Part } from "../html.ts";
import type { Site } from "../site.ts";
import { layout } from "./layout.ts";

interface Place {
  readonly path: string;
  readonly label: Catalogue<string>;
}

/** The pages of a signed-in person's own, in the order in which they are offered. */
const PLACES: readonly Place[] = [
  { path: "/account", label: { en: "Profile and applications", de: "Profil und Anwendungen" } },
  { path: "/account/agents", label: { en: "Agents", de: "Agenten" } },
  { path: "/account/security", label: { en: "Security", de: "Sicherheit" } },
  { path: "/account/delete", label: { en: "Delete account", de: "Konto löschen" } },
];

export interface AccountFrame {
  readonly language: Language;
  /** The page that is shown. */
  readonly path: string;
  readonly title: string;
  /** What was just done, in words. */
  readonly done?: string | undefined;
}

/** The frame around every page of a signed-in person's own. */
export function accountFrame(site: Site, { language, path, title, done }: AccountFrame, content: Part): Markup {
  const texts = accountNavTexts[language];
  const place = (one: Place) =>
    html`<li><a href="${site.path(one.path)}"${one.path === path && html` aria-current="page"`}>${one.label[language]}</a></li>`;
  return layout(
    site,
    { language, title, width: "wide", aside: html`<a class="top-link" href="${site.path("/logout")}">${texts.signOut}</a>` },
    html`<h1>${title}</h1>
<nav class="account-nav" aria-label="${texts.nav}">
<ul>${PLACES.map(place)}</ul>
</nav>
${done !== undefined && html`<p class="done" role="status">${done}</p>`}
${content}`,
  );
}

/** The words for what was just done, if they are among these. */
export const doneWords = (words: Readonly<Record<string, string>>, done: string | undefined): string | undefined =>
  done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;
