import type { SignedIn } from "../../../accounts/ports.ts";
import { PASSKEY_SCRIPT } from "../assets.ts";
import {
  type Asked,
  type FailedForm,
  type Field,
  faultSummary,
  field,
  type HostedPage,
  html,
  type Markup,
  type Part,
  type Site,
  sendPage,
  type Writing,
} from "./layout.ts";

interface Notice {
  readonly tone: "good" | "bad" | "plain" | "mail";
  readonly title: string;
  readonly text: string;
  readonly more?: Part;
  /** Helps support find the case: the error code and the id of the request. */
  readonly support?: {
    readonly code: string;
    readonly requestId: string;
    readonly description?: string | undefined;
    /** The member of an application's request at fault, as it was sent. */
    readonly sent?: Readonly<Record<"name" | "value" | "remedy", string>> | undefined;
  };
}

export const noticeView = ({ texts }: Pick<Writing, "texts">, { tone, title, text, more, support }: Notice): HostedPage => ({
  title,
  content: html`<section class="card notice notice-${tone}">
<span class="seal" aria-hidden="true"></span>
<h1>${title}</h1>
<p class="lead">${text}</p>
${more}
</section>
${support && html`<p class="support">${texts.frame.forSupport} <span class="host">${support.code} ${support.requestId}</span></p>`}
${support?.description !== undefined && html`<p class="support" lang="en">${support.description}</p>`}
${
  support?.sent &&
  html`<p class="support">${support.sent.name}: <span class="host">${support.sent.value}</span></p>
<p class="support">${support.sent.remedy}</p>`
}`,
});

export const sendNotice = (asked: Asked, notice: Notice, status?: number): void => sendPage(asked, noticeView(asked, notice), status);

/** The link to the next step. */
export const wideLink = (path: string, words: string): Markup => html`<a class="button button-wide" href="${path}">${words}</a>`;

interface FormCard {
  readonly title: string;
  /** The heading, where it differs from the title of the page. */
  readonly heading?: string;
  readonly lead?: Part;
  /** The path to post to. */
  readonly action: string;
  readonly members: Part;
  readonly fields?: readonly Field[];
  readonly submit: string;
  /** Another form, instead of the first. */
  readonly instead?: Part;
  /** Within the card, after the forms. */
  readonly after?: Part;
  /** Within the card, at its end: other ways than the form. */
  readonly others?: Part;
  readonly below?: Part;
  readonly head?: Part;
}

/** A page with one form, again after it failed. */
export const formView = (
  { language }: Pick<Writing, "language">,
  { faults = [] }: FailedForm,
  { title, heading = title, lead, head, ...card }: FormCard,
): HostedPage => ({
  title,
  faults,
  head,
  content: html`<section class="card">
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
});

export const sendForm = (asked: Asked, failed: FailedForm, card: FormCard): void =>
  sendPage(asked, formView(asked, failed, card), failed.status);

/** What every account page needs besides its content. */
export interface AccountPage {
  readonly signedIn: SignedIn;
  /** What was just done in this browser, from the redirect after a form. */
  readonly done: string | undefined;
}

/** `path`: of the page in the navigation. `done`: what was just done, in words. */
type AccountFrame = Omit<HostedPage, "width" | "aside" | "content"> & { readonly path: string; readonly done?: string | undefined };

export function sendAccountPage(asked: Asked, { path, done, ...frame }: AccountFrame, content: Part, status?: number): void {
  const { site } = asked;
  const { accountNav: texts, words } = asked.texts;
  const current = site.sections.find((one) => one.path === path)?.below ?? path;
  const links: Markup[] = [];
  for (const { path: to, label, below } of site.sections) {
    const mark = to === current && html` aria-current="${to === path ? "page" : "true"}"`;
    if (below === undefined) links.push(html`<li><a href="${site.path(to)}"${mark}>${texts.sections[label]}</a></li>`);
  }
  const page: HostedPage = {
    ...frame,
    width: "wide",
    aside: html`<a class="top-link" href="${site.path("/logout")}">${words.signOut}</a>`,
    content: html`<h1>${frame.title}</h1>
<nav class="account-nav" aria-label="${words.yourAccount}">
<ul>${links}</ul>
</nav>
${done !== undefined && html`<p class="done" role="status">${done}</p>`}
${content}`,
  };
  sendPage(asked, page, status);
}

/** The text for what was just done; undefined for an unknown value. */
export const doneWords = (words: Readonly<Record<string, string>>, done: string | undefined): string | undefined =>
  done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;

export const passkeyHead = (site: Site): Markup => html`<script type="module" src="${site.path(PASSKEY_SCRIPT.path)}"></script>`;

interface PasskeyForm {
  readonly kind: "sign-in" | "add";
  /** The path to post to; with `/options` appended it returns a challenge. */
  readonly path: string;
  readonly members: Part;
  readonly fields?: Part;
  readonly submit: string;
  readonly quiet: boolean;
  /** Shown when the browser has no answer. */
  readonly failure: string;
  /** Shown when the device has a passkey of this account already. */
  readonly known?: string;
}

/** A form that a script fills in with the browser's answer. It is hidden where browsers cannot use passkeys. */
export const passkeyForm = (
  site: Site,
  { kind, path, members, fields, submit, quiet, failure, known }: PasskeyForm,
): Markup => html`<form method="post" action="${site.path(path)}" class="stack" data-passkey="${kind}" data-options="${site.path(`${path}/options`)}" hidden>
${members}
<input type="hidden" name="response" value="">
${fields}
<p class="fault" role="alert" data-failure hidden>${failure}</p>
${known && html`<p class="fault" role="alert" data-failure="InvalidStateError" hidden>${known}</p>`}
<button class="button button-wide${quiet && html` button-quiet`}" type="submit">${submit}</button>
</form>`;
