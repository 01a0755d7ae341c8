import type { Catalogue } from "./language.ts";

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
