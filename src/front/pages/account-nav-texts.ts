import type { Catalogue } from "../texts/language.ts";

export interface AccountNavTexts {
  /** Names the list of a person's own pages. */
  readonly nav: string;
  readonly signOut: string;
}

export const accountNavTexts: Catalogue<AccountNavTexts> = {
  en: { nav: "Your account", signOut: "Sign out" },
  de: { nav: "Ihr Konto", signOut: "Abmelden" },
};
