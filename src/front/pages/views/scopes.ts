import { BUILT_IN_SCOPES, type ScopeDescription, wordingFor } from "../../../accounts/scope-descriptions.ts";
import { catalogue, type Language, shownList } from "../../texts/language.ts";

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
 * A scope in words: the operators' description, else the built-in one. A scope without a description keeps its name; its resources decide
 * what it allows. Pure.
 * @param resources of the access, in words; without any it is for the application itself
 */
export function scopeWords(language: Language, scope: string, described: Described, resources: readonly string[] = []): ScopeWords {
  const description = described.get(scope) ?? BUILT_IN.get(scope);
  const other = (words: { readonly language: Language } | undefined) => (words?.language === language ? undefined : words?.language);
  const title = description && wordingFor(language, description.title);
  if (description !== undefined && title !== undefined) {
    const detail = wordingFor(language, description.detail);
    return { title: title.text, titleIn: other(title), detail: detail?.text ?? "", detailIn: other(detail) };
  }
  const { firstPartyPermission, permissionAt } = scopesTexts[language];
  const detail = resources.length === 0 ? firstPartyPermission : permissionAt(shownList(language, resources));
  return { title: scope, titleIn: undefined, detail, detailIn: undefined };
}

/** The details of a scope without a description. */
const scopesTexts = catalogue({
  en: {
    firstPartyPermission: "A permission of the application itself.",
    permissionAt: (resources: string) => `A permission at ${resources}.`,
  },
  de: {
    firstPartyPermission: "Eine Berechtigung der Anwendung selbst.",
    permissionAt: (resources) => `Eine Berechtigung bei ${resources}.`,
  },
});
