import type { SignedIn } from "../../../accounts/ports.ts";
import { TEXTS } from "../../../texts/languages.ts";
import { type Frame, type HostedPage, html, layout, type Markup, type Part, type Site } from "./layout.ts";

/** What every account page needs besides its content. */
export interface AccountPage {
  readonly signedIn: SignedIn;
  /** Of every form on the page. */
  readonly token: string;
  /** What was just done in this browser, from the redirect after a form. */
  readonly done: string | undefined;
}

interface AccountFrame extends Pick<Frame, "language" | "title" | "faults" | "head"> {
  /** The page that is shown. */
  readonly path: string;
  /** What was just done, in words. */
  readonly done?: string | undefined;
}

export function accountFrame(site: Site, { language, path, title, done, faults, head }: AccountFrame, content: Part): HostedPage {
  const texts = TEXTS[language].accountNav;
  const current = site.sections.find((one) => one.path === path)?.below ?? path;
  const links: Markup[] = [];
  for (const { path: to, label, below } of site.sections) {
    const mark = to === current && html` aria-current="${to === path ? "page" : "true"}"`;
    if (below === undefined) links.push(html`<li><a href="${site.path(to)}"${mark}>${texts.sections[label]}</a></li>`);
  }
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
<ul>${links}</ul>
</nav>
${done !== undefined && html`<p class="done" role="status">${done}</p>`}
${content}`,
  );
}

/** The text for what was just done; undefined for an unknown value. */
export const doneWords = (words: Readonly<Record<string, string>>, done: string | undefined): string | undefined =>
  done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;
