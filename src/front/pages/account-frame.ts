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
  /** Faults of the form on the page. The title names them first, for screen readers. */
  readonly faults?: readonly Fault[];
  /** Additional elements of the page's head. */
  readonly head?: Part;
}

/** The frame around every account page. */
export function accountFrame(site: Site, { language, path, title, done, faults = [], head }: AccountFrame, content: Part): Markup {
  const texts = accountNavTexts[language];
  const link = (one: AccountSection) =>
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
<ul>${accountSections(site).map(link)}</ul>
</nav>
${done !== undefined && html`<p class="done" role="status">${done}</p>`}
${content}`,
  );
}

/** The text for what was just done, if the value is known. */
export const doneWords = (words: Readonly<Record<string, string>>, done: string | undefined): string | undefined =>
  done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;

export interface AccountNavTexts {
  /** Names the list of account pages. */
  readonly nav: string;
  readonly signOut: string;
}

export const accountNavTexts: Catalogue<AccountNavTexts> = {
  en: { nav: "Your account", signOut: "Sign out" },
  de: { nav: "Ihr Konto", signOut: "Abmelden" },
};

/** A section of the account pages. */
export interface AccountSection {
  readonly path: string;
  readonly label: Catalogue<string>;
  /** Whether this server has the page; without it every server has. */
  readonly isOffered?: (site: Site) => boolean;
}

/** The page after a sign-in without another destination. */
export const ACCOUNT_START = "/account";

const SECTIONS: readonly AccountSection[] = [
  { path: ACCOUNT_START, label: { en: "Profile and applications", de: "Profil und Anwendungen" } },
  { path: "/account/agents", label: { en: "Agents", de: "Agenten" } },
  { path: "/account/security", label: { en: "Security", de: "Sicherheit" } },
  { path: "/account/wallet", label: { en: "Wallet", de: "Wallet" }, isOffered: (site) => site.wallets },
  { path: "/account/delete", label: { en: "Delete account", de: "Konto löschen" } },
];

/** The account pages that this server has, in the order of the navigation. */
export const accountSections = (site: Site): readonly AccountSection[] => SECTIONS.filter(({ isOffered }) => isOffered?.(site) ?? true);

/** The account page whose path equals untrusted text exactly, else the first one, so that it can lead nowhere else. Pure. */
export const namedSection = (site: Site, text: string | undefined): string =>
  accountSections(site).find(({ path }) => path === text)?.path ?? ACCOUNT_START;

/** The path to sign in and return to the account page with this path, or to the page whose form has it. Pure. */
export function signInFor(site: Site, path: string): string {
  const [section] = accountSections(site)
    .filter((one) => one.path !== ACCOUNT_START && (path === one.path || path.startsWith(`${one.path}/`)))
    .map((one) => one.path);
  return site.path("/login", { next: section });
}

/** The destination that a query or a form names. It is never an address, so it cannot lead to another site. Pure. */
export function returnToOf(site: Site, members: Pick<Form, "get">): ReturnTo {
  const requestId = members.get("request");
  if (requestId !== undefined) return { requestId };
  const next = namedSection(site, members.get("next"));
  return next === ACCOUNT_START ? {} : { next };
}
