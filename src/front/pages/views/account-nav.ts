import { html, type Markup, type Part } from "../html.ts";
import type { Site } from "../site.ts";
import { layout } from "./layout.ts";

/** The pages of a signed-in person's own, in the order in which they are offered. */
const PLACES = [
  { path: "/account", label: "Profile and applications" },
  { path: "/account/security", label: "Security" },
] as const;

export interface AccountFrame {
  /** The page that is shown. */
  readonly path: (typeof PLACES)[number]["path"];
  readonly title: string;
  /** What was just done, in words. */
  readonly done?: string | undefined;
}

/** The frame around every page of a signed-in person's own. */
export const accountFrame = (site: Site, { path, title, done }: AccountFrame, content: Part): Markup =>
  layout(
    site,
    { title, width: "wide", aside: html`<a class="top-link" href="${site.path("/logout")}">Sign out</a>` },
    html`<h1>${title}</h1>
<nav class="account-nav" aria-label="Your account">
<ul>${PLACES.map((place) => html`<li><a href="${site.path(place.path)}"${place.path === path && html` aria-current="page"`}>${place.label}</a></li>`)}</ul>
</nav>
${done !== undefined && html`<p class="done" role="status">${done}</p>`}
${content}`,
  );

/** The words for what was just done, if they are among these. */
export const doneWords = (words: Readonly<Record<string, string>>, done: string | undefined): string | undefined =>
  done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;
