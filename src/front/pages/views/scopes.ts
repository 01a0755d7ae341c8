import { BUILT_IN_SCOPES, type ScopeDescription, wordingFor } from "../../../accounts/scope-descriptions.ts";
import { type Catalogue, type Language, shownList } from "../../texts/language.ts";

/** A scope as it is shown. */
export interface ScopeWords {
  readonly title: string;
  readonly detail: string;
  /** The languages that they are in, where that is not the page's (WCAG 2.2, 3.1.2). */
  readonly titleIn: Language | undefined;
  readonly detailIn: Language | undefined;
}

/** How the operators describe scopes, by name. */
export type Described = ReadonlyMap<string, ScopeDescription>;

const BUILT_IN: Described = new Map(BUILT_IN_SCOPES.map((scope) => [scope.name, scope]));
/**
 * A scope in plain words: the operators' own, else the built-in ones. One that nobody has described keeps its name: what it allows is
 * for the places to say where it is good. Pure.
 * @param places where the access is for, in words; nowhere is the application itself
 */
export function scopeWords(language: Language, scope: string, described: Described, places: readonly string[] = []): ScopeWords {
  const own = described.get(scope) ?? BUILT_IN.get(scope);
  const other = (words: { readonly language: Language } | undefined) => (words?.language === language ? undefined : words?.language);
  const title = own && wordingFor(language, own.title);
  if (own !== undefined && title !== undefined) {
    const detail = wordingFor(language, own.detail);
    return { title: title.text, titleIn: other(title), detail: detail?.text ?? "", detailIn: other(detail) };
  }
  const { firstPartyPermission, permissionAt } = scopesTexts[language];
  const detail = places.length === 0 ? firstPartyPermission : permissionAt(shownList(language, places));
  return { title: scope, titleIn: undefined, detail, detailIn: undefined };
}

/** What is said of a scope that nobody has described. */
export interface ScopesTexts {
  readonly firstPartyPermission: string;
  readonly permissionAt: (places: string) => string;
}

export const scopesTexts: Catalogue<ScopesTexts> = {
  en: {
    firstPartyPermission: "A permission of the application itself.",
    permissionAt: (places) => `A permission at ${places}.`,
  },
  de: {
    firstPartyPermission: "Eine Berechtigung der Anwendung selbst.",
    permissionAt: (places) => `Eine Berechtigung bei ${places}.`,
  },
};
