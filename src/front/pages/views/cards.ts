import { type Language, TEXTS, type Texts } from "../../../texts/languages.ts";
import {
  type Asked,
  type FailedForm,
  type Fault,
  type Field,
  faultSummary,
  field,
  type HostedPage,
  html,
  layout,
  type Markup,
  type Part,
  type Site,
  sendPage,
} from "./layout.ts";

interface Notice {
  readonly tone: "good" | "bad" | "plain" | "mail";
  readonly title: string;
  readonly text: string;
  readonly more?: Part;
  /** Helps support find the case: the error code and the id of the request. */
  readonly support?: { readonly code: string; readonly requestId: string; readonly description?: string | undefined };
}

/** A page with one message. */
export const noticeView = (site: Site, language: Language, { tone, title, text, more, support }: Notice): HostedPage =>
  layout(
    site,
    { language, title },
    html`<section class="card notice notice-${tone}">
<span class="seal" aria-hidden="true"></span>
<h1>${title}</h1>
<p class="lead">${text}</p>
${more}
</section>
${support && html`<p class="support">${TEXTS[language].frame.forSupport} <span class="host">${support.code} ${support.requestId}</span></p>`}
${support?.description !== undefined && html`<p class="support" lang="en">${support.description}</p>`}`,
  );

/** Sends such a page. @param words of the texts in the user's language */
export function sendNotice(
  { ctx, site, texts, language }: Asked,
  tone: Notice["tone"],
  words: (texts: Texts, language: Language) => Pick<Notice, "title" | "text" | "more">,
  status?: number,
): void {
  sendPage(ctx, noticeView(site, language, { tone, ...words(texts, language) }), status);
}

/** The link to the next step. */
export const wideLink = (path: string, words: string): Markup => html`<a class="button button-wide" href="${path}">${words}</a>`;

/** A card with one form, and what surrounds it. */
interface FormCard {
  readonly title: string;
  /** The heading, where it differs from the title of the page. */
  readonly heading?: string;
  readonly lead?: Part;
  /** The path to post to. */
  readonly action: string;
  /** The hidden members. */
  readonly members: Part;
  readonly fields?: readonly Field[];
  readonly faults?: readonly Fault[];
  readonly submit: string;
  /** Another form, instead of the first. */
  readonly instead?: Part;
  /** Within the card, after the forms. */
  readonly after?: Part;
  /** Within the card, at its end: other ways than the form. */
  readonly others?: Part;
  readonly below?: Part;
  /** Additional elements of the page's head. */
  readonly head?: Part;
}

export function formView(
  site: Site,
  language: Language,
  { title, heading = title, lead, faults = [], head, ...card }: FormCard,
): HostedPage {
  return layout(
    site,
    { language, title, faults, head },
    html`<section class="card">
<h1>${heading}</h1>
${lead !== undefined && html`<p class="lead">${lead}</p>`}
${faultSummary(language, faults)}
<form method="post" action="${card.action}" class="stack" novalidate>
${card.members}
${card.fields?.map((one) => field(language, faults, one))}
<button class="button button-wide" type="submit">${card.submit}</button>
</form>
${card.instead}
${card.after !== undefined && html`<p class="small centred after-form">${card.after}</p>`}
${card.others}
</section>
${card.below && html`<p class="below">${card.below}</p>`}`,
  );
}

/** Sends such a page, again after a form that failed. @param card made of the texts in the user's language */
export function sendForm(
  { ctx, site, texts, language }: Asked,
  { faults = [], status }: FailedForm,
  card: (texts: Texts, language: Language) => Omit<FormCard, "faults">,
): void {
  sendPage(ctx, formView(site, language, { ...card(texts, language), faults }), status);
}
