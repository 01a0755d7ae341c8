import { LANGUAGES, type Language, TEXTS, type Texts } from "../texts/languages.ts";

/** A text in at least one language. */
export type Wording = { readonly [L in Language]?: string | undefined };

/** What a scope allows, in words for users. */
export type ScopeDescription = { readonly name: string; readonly title: Wording; readonly detail: Wording };

export interface ScopeDescriptions {
  /** The descriptions that operators of a realm gave to some of these scopes, by name. */
  of(realmId: string, names: readonly string[]): Promise<ReadonlyMap<string, ScopeDescription>>;
}

/** Descriptions of the built-in scopes, which operators can replace. */
export const BUILT_IN_SCOPES: readonly ScopeDescription[] = (Object.keys(TEXTS.en.builtInScopes) as (keyof Texts["builtInScopes"])[]).map(
  (name) => ({ name, title: inAllLanguages(name, "title"), detail: inAllLanguages(name, "detail") }),
);

function inAllLanguages(name: keyof Texts["builtInScopes"], part: "title" | "detail"): Wording {
  return Object.fromEntries(LANGUAGES.map((language) => [language, TEXTS[language].builtInScopes[name][part]]));
}
