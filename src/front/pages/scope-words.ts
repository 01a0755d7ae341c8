import { BUILT_IN_SCOPES, type ScopeDescription, wordingFor } from "../../accounts/scope-descriptions.ts";
import { type Language, shownList } from "../texts/language.ts";
import { scopesTexts } from "../texts/scopes.ts";
import { shownResource } from "./client-words.ts";

/** A scope as it is shown. */
export interface ScopeWords {
  readonly title: string;
  readonly detail: string;
}

/** How the operators describe scopes, by name. */
export type Described = ReadonlyMap<string, ScopeDescription>;

const BUILT_IN: Described = new Map(BUILT_IN_SCOPES.map((scope) => [scope.name, scope]));
/**
 * A scope in plain words: the operators' own, else the built-in ones. One that nobody has described keeps its name: what it allows is
 * for the places to say where it is good. Pure.
 * @param resources where the access is for; nowhere is the application itself
 */
export function scopeWords(language: Language, scope: string, described: Described, resources: readonly string[] = []): ScopeWords {
  const own = described.get(scope) ?? BUILT_IN.get(scope);
  const title = own && wordingFor(language, own.title);
  if (own !== undefined && title !== undefined) return { title, detail: wordingFor(language, own.detail) ?? "" };
  const { ownPermission, permissionAt } = scopesTexts[language];
  return { title: scope, detail: resources.length === 0 ? ownPermission : permissionAt(shownList(language, resources.map(shownResource))) };
}
