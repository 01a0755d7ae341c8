/** The languages of pages and mails. The first is the default. */
export const LANGUAGES = ["en", "de"] as const;

export type Language = (typeof LANGUAGES)[number];

/** The texts of one page or mail in every language. A missing translation does not compile. */
export type Catalogue<Texts> = Readonly<Record<Language, Texts>>;
