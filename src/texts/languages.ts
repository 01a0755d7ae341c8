import { de } from "./de.ts";
import { en, type Texts } from "./en.ts";

const languages = { en, de };

export type { Texts };
export type Language = keyof typeof languages;

/** All texts of pages and mails, by language. */
export const TEXTS: Readonly<Record<Language, Texts>> = languages;

/** The languages of pages and mails. */
export const LANGUAGES = Object.keys(languages) as readonly Language[];

/** For users who prefer none of them. */
export const DEFAULT_LANGUAGE: Language = "en";
