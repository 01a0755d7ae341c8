import { type Language, shownList } from "../texts/language.ts";
import { type ScopeWords, scopesTexts } from "../texts/scopes.ts";
import { shownResource } from "./client-words.ts";

/**
 * A scope in plain words. One that nobody has described keeps its name: what it allows is for the places to say where it is good.
 * @param resources where the access is for; nowhere is the application itself
 */
export function scopeWords(language: Language, scope: string, resources: readonly string[] = []): ScopeWords {
  const { builtIn, ownPermission, permissionAt } = scopesTexts[language];
  const places = resources.map(shownResource);
  const detail = places.length === 0 ? ownPermission : permissionAt(shownList(language, places));
  return builtIn.get(scope) ?? { title: scope, detail };
}
