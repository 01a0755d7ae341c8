import type { Form } from "../../protocol/form.ts";
import type { Catalogue, Language } from "../texts/language.ts";
import { html, type Markup, type Part } from "./html.ts";
import type { ReturnTo, Site } from "./site.ts";
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

export interface AccountNavTexts {
  /** Names the list of a person's own pages. */
  readonly nav: string;
  readonly signOut: string;
}

export const accountNavTexts: Catalogue<AccountNavTexts> = {
  en: { nav: "Your account", signOut: "Sign out" },
  de: { nav: "Ihr Konto", signOut: "Abmelden" },
};

/** A page of a signed-in person's own. */
export interface AccountSection {
  readonly path: string;
  readonly label: Catalogue<string>;
  /** Whether this server has the page; without it every one has. */
  readonly isOffered?: (site: Site) => boolean;
}

/** Where whoever has signed in for nothing else is led. */
export const ACCOUNT_START = "/account";

const PLACES: readonly AccountSection[] = [
  { path: ACCOUNT_START, label: { en: "Profile and applications", de: "Profil und Anwendungen" } },
  { path: "/account/agents", label: { en: "Agents", de: "Agenten" } },
  { path: "/account/security", label: { en: "Security", de: "Sicherheit" } },
  { path: "/account/wallet", label: { en: "Wallet", de: "Wallet" }, isOffered: (site) => site.wallets },
  { path: "/account/delete", label: { en: "Delete account", de: "Konto löschen" } },
];

/** The pages of a signed-in person's own that this server has, in the order in which they are offered. */
export const accountSections = (site: Site): readonly AccountSection[] => PLACES.filter(({ isOffered }) => isOffered?.(site) ?? true);

/** The page that a text from outside names, letter for letter, so that it can lead nowhere else; without one the first. Pure. */
export const namedSection = (site: Site, text: string | undefined): string =>
  accountSections(site).find(({ path }) => path === text)?.path ?? ACCOUNT_START;

/** The way to sign in and come back to the page with this path, or to that whose form has it. Pure. */
export function signInFor(site: Site, path: string): string {
  const [place] = accountSections(site)
    .filter((one) => one.path !== ACCOUNT_START && (path === one.path || path.startsWith(`${one.path}/`)))
    .map((one) => one.path);
  return site.path("/login", { next: place });
}

/** Where a query or a form says that the person was going. Nothing in it is an address, so that it leads nowhere else. Pure. */
export function returnToOf(site: Site, members: Pick<Form, "get">): ReturnTo {
  const requestId = members.get("request");
  if (requestId !== undefined) return { requestId };
  const next = namedSection(site, members.get("next"));
  return next === ACCOUNT_START ? {} : { next };
}
