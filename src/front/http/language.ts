import Negotiator from "negotiator";
import { DEFAULT_LANGUAGE, LANGUAGES, type Language, TEXTS } from "../../texts/languages.ts";
import { cookieValues } from "./cookies.ts";
import type { FrontContext } from "./routes.ts";

/** Characters of a header or parameter that are read: thousands of languages would take long to parse. */
const MAX_ACCEPTED = 500;

/** The language that the user chose on a page, for a year. It is no secret and decides nothing, so it has no prefix. */
const CHOSEN = { name: "countersign-language", ttl: 31_536_000 } as const;
/** The language that an application asked for with `ui_locales`, for as long as a request waits for a mail. */
const REQUESTED = { name: "countersign-ui-locales", ttl: 3600 } as const;

/** The member of a page's query by which a user chooses a language. */
export const LANGUAGE_MEMBER = "lang";

const languageNamed = (name = ""): Language | undefined => (Object.hasOwn(TEXTS, name) ? (name as Language) : undefined);

/**
 * The language of a page or mail: the one that the user chose, else the one that the application asked for, else the one that the browser
 * prefers. @see RFC 9110 §12.5.4, OpenID Connect Core §3.1.2.1 (ui_locales)
 */
export function languageOf({ req }: Pick<FrontContext, "req">): Language {
  const { cookie, "accept-language": accepted } = req.headers;
  for (const value of [...cookieValues(cookie, CHOSEN.name), ...cookieValues(cookie, REQUESTED.name)]) {
    const remembered = languageNamed(value);
    if (remembered !== undefined) return remembered;
  }
  const preferred = new Negotiator({ headers: { "accept-language": accepted?.slice(0, MAX_ACCEPTED) } }).language([...LANGUAGES]);
  return languageNamed(preferred) ?? DEFAULT_LANGUAGE;
}

/** The best language of a `ui_locales` parameter: BCP 47 tags separated by spaces, the preferred one first. Pure. */
export function requestedLanguage(uiLocales: string): Language | undefined {
  const tags = uiLocales.slice(0, MAX_ACCEPTED).toLowerCase().split(" ");
  return tags.map((tag) => languageNamed(tag.split("-", 1)[0])).find((language) => language !== undefined);
}

/** Remembers the language that an application asks for, while its request waits. An unknown one changes nothing. */
export function rememberRequested(ctx: FrontContext, uiLocales: string, secure: boolean): void {
  const language = requestedLanguage(uiLocales);
  if (language !== undefined) remember(ctx, REQUESTED, language, secure);
}

/** Remembers the language that the user chose. @returns whether there is such a language */
export function rememberChosen(ctx: FrontContext, name: string, secure: boolean): boolean {
  const language = languageNamed(name);
  if (language !== undefined) remember(ctx, CHOSEN, language, secure);
  return language !== undefined;
}

const remember = (ctx: FrontContext, { name, ttl }: { readonly name: string; readonly ttl: number }, language: Language, secure: boolean) =>
  ctx.append("Set-Cookie", `${name}=${language}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${ttl}${secure ? "; Secure" : ""}`);
