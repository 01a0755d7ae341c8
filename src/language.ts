/** The languages that people are spoken to in, on pages and in mails; the first is for whoever asks for none of them. */
export const LANGUAGES = ["en", "de"] as const;

export type Language = (typeof LANGUAGES)[number];

/** The texts of one page or mail in every language: a translation that is missing does not compile. */
export type Catalogue<Texts> = Readonly<Record<Language, Texts>>;
