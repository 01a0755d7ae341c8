import type { Catalogue } from "./language.ts";

/** What is said of a scope that nobody has described. */
export interface ScopesTexts {
  readonly ownPermission: string;
  readonly permissionAt: (places: string) => string;
}

export const scopesTexts: Catalogue<ScopesTexts> = {
  en: {
    ownPermission: "A permission of the application itself.",
    permissionAt: (places) => `A permission at ${places}.`,
  },
  de: {
    ownPermission: "Eine Berechtigung der Anwendung selbst.",
    permissionAt: (places) => `Eine Berechtigung bei ${places}.`,
  },
};
