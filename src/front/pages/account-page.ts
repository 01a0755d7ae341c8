import type { SignedIn } from "../../accounts/ports.ts";
import { isRefusal } from "../../errors.ts";
import type { Form } from "../../protocol/form.ts";
import { formBody } from "../http/body.ts";
import { sendRedirect } from "../http/headers.ts";
import { type FrontContext, type Handler, pathText } from "../http/routes.ts";
import { type Catalogue, catalogue } from "../texts/language.ts";
import { html, type Markup, type Part } from "./html.ts";
import { type PageKit, queryMember, signedInTo } from "./kit.ts";
import type { ReturnTo, Site } from "./site.ts";
import { type Fault, type Frame, formTitle, layout } from "./views/layout.ts";

/** The purpose of the token in every form of the account pages. */
export const ACCOUNT_PURPOSE = "account";

/** What every account page needs besides its content. */
export interface AccountPage {
  readonly signedIn: SignedIn;
  /** Of every form on the page. */
  readonly token: string;
  /** What was just done, from the redirect after a form. Untrusted: only known values may be shown. */
  readonly done: string | undefined;
}

/** GET of an account page; a user who is not signed in is redirected to sign in, and returns. */
export const accountPageHandler =
  (kit: PageKit, show: (ctx: FrontContext, page: AccountPage) => Promise<void> | void): Handler =>
  async (ctx) => {
    const signedIn = await signedInTo(kit, ctx);
    if (!signedIn) return sendRedirect(ctx, signInFor(kit.site, pathText(ctx)), 302);
    await show(ctx, { signedIn, token: kit.guard.token(ctx, ACCOUNT_PURPOSE), done: queryMember(ctx, "done") });
  };

/** Ignores `not_found` of a removal: the first of two clicks may have removed it. */
export async function goneAfter(ending: Promise<void>): Promise<void> {
  try {
    await ending;
  } catch (error) {
    if (!isRefusal(error) || error.code !== "not_found") throw error;
  }
}

/**
 * POST of a form of an account page. `act` returns the path to redirect to, such as `/account?done=revoked`, or undefined when it has
 * answered. A form of another site is refused before anything is looked up.
 */
export const accountForm =
  (kit: PageKit, act: (ctx: FrontContext, form: Form, signedIn: SignedIn) => Promise<string | undefined>): Handler =>
  async (ctx) => {
    const form = await formBody(ctx);
    kit.guard.assert(ctx, form, ACCOUNT_PURPOSE);
    const signedIn = await signedInTo(kit, ctx);
    if (!signedIn) return sendRedirect(ctx, signInFor(kit.site, pathText(ctx)), 303);
    const next = await act(ctx, form, signedIn);
    if (next !== undefined) sendRedirect(ctx, kit.site.path(next), 303);
  };

interface AccountFrame extends Pick<Frame, "language" | "title" | "head"> {
  /** The page that is shown. */
  readonly path: string;
  /** What was just done, in words. */
  readonly done?: string | undefined;
  /** Faults of the form on the page. The title names them first, for screen readers. */
  readonly faults?: readonly Fault[];
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

/** The text for what was just done; undefined for an unknown value. */
export const doneWords = (words: Readonly<Record<string, string>>, done: string | undefined): string | undefined =>
  done !== undefined && Object.hasOwn(words, done) ? words[done] : undefined;

/** `nav` names the list of account pages. */
const accountNavTexts = catalogue({
  en: { nav: "Your account", signOut: "Sign out" },
  de: { nav: "Ihr Konto", signOut: "Abmelden" },
});

interface AccountSection {
  readonly path: string;
  readonly label: Catalogue<string>;
  /** Whether only a server that links wallets has the page. */
  readonly forWallets?: true;
}

/** The page after a sign-in without another destination. */
export const ACCOUNT_START = "/account";

const SECTIONS: readonly AccountSection[] = [
  { path: ACCOUNT_START, label: { en: "Profile and applications", de: "Profil und Anwendungen" } },
  { path: "/account/agents", label: { en: "Agents", de: "Agenten" } },
  { path: "/account/security", label: { en: "Security", de: "Sicherheit" } },
  { path: "/account/wallet", label: { en: "Wallet", de: "Wallet" }, forWallets: true },
  { path: "/account/delete", label: { en: "Delete account", de: "Konto löschen" } },
];

/** The account pages that this server has, in the order of the navigation. */
const accountSections = (site: Site): readonly AccountSection[] => SECTIONS.filter(({ forWallets }) => !forWallets || site.wallets);

/** The account page whose path equals untrusted text exactly, else the first one, so that it can lead nowhere else. Pure. */
const namedSection = (site: Site, text: string | undefined): string =>
  accountSections(site).find(({ path }) => path === text)?.path ?? ACCOUNT_START;

/** The path to sign in and return to the account page with this path, or to the page whose form has it. Pure. */
function signInFor(site: Site, path: string): string {
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
