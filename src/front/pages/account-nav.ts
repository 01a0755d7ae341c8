import type { Language } from "../texts/language.ts";
import { accountNavTexts } from "./account-nav-texts.ts";
import { type AccountSection, accountSections } from "./account-sections.ts";
import { html, type Markup, type Part } from "./html.ts";
import type { Site } from "./site.ts";
import { type Fault, formTitle, layout } from "./views/layout.ts";

export interface AccountFrame {
  readonly language: Language;
  /** The page that is shown. */
  readonly path: string;
  readonly title: string;
  /** What was just done, in words. */
  readonly done?: string | undefined;
  /** Of the form on the page: told first, in the title, to whoever hears the page. */
  readonly faults?: readonly Fault[];
  /** What the page needs in its head besides. */
  readonly head?: Part;
}

/** The frame around every page of a signed-in person's own. */
export function accountFrame(site: Site, { language, path, title, done, faults = [], head }: AccountFrame, content: Part): Markup {
  const texts = accountNavTexts[language];
  const place = (one: AccountSection) =>
    html`<li><a href="${site.path(one.path)}"${one.path === path && html` aria-current="page"`}>${one.label[language]}</a></li>`;
  return layout(
    site,
    {
      language,
      title: formTitle(language, title, faults),
      width: "wide",
      head,
      aside: html`<a class="top-link" href="${site.path("/logout")}">${texts.signOut}</a>`,
    },
    html`<h1>${title}</h1>
<nav class="account-nav" aria-label="${texts.nav}">
<ul>${accountSections(site).map(place)}</ul>
</nav>
${done !== undefined && html`<p class="done" role="status">${done}</p>`}
${content}`,
  );
}

/** The words for what was just done, if they are among these. */
export const doneWords = (words: Readonly<Record<string, string>>, done: string | undefined): string | undefined =>
  done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;
