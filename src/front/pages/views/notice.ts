import type { Catalogue, Language } from "../../texts/language.ts";
import { html, layout, type Markup, type Part, type Site } from "./layout.ts";

export interface Notice {
  readonly tone: "good" | "bad" | "plain" | "mail";
  readonly title: string;
  readonly text: string;
  readonly more?: Part;
  /** Helps support find the case: the error code and the id of the request. */
  readonly support?: { readonly code: string; readonly requestId: string; readonly description?: string | undefined };
}

/** Before the code of an error. */
const FOR_SUPPORT: Catalogue<string> = { en: "For support:", de: "Für den Support:" };

/** A page with one message. */
export const noticeView = (site: Site, language: Language, { tone, title, text, more, support }: Notice): Markup =>
  layout(
    site,
    { language, title },
    html`<section class="card notice notice-${tone}">
<span class="seal" aria-hidden="true"></span>
<h1>${title}</h1>
<p class="lead">${text}</p>
${more}
</section>
${support && html`<p class="support">${FOR_SUPPORT[language]} <span class="host">${support.code} ${support.requestId}</span></p>`}
${support?.description !== undefined && html`<p class="support" lang="en">${support.description}</p>`}`,
  );

/** The link to the next step. */
export const wideLink = (path: string, words: string): Markup => html`<a class="button button-wide" href="${path}">${words}</a>`;
