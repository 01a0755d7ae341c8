/** The languages of pages and mails; the first is the default. */
export const LANGUAGES = ["en", "de"] as const;

export type Language = (typeof LANGUAGES)[number];

/** The texts of one page or mail in every language; a missing translation does not compile. */
export type Catalogue<Texts> = Readonly<Record<Language, Texts>>;

/** A catalogue with the members of its English texts. */
export const catalogue = <Texts>(texts: { readonly en: Texts; readonly de: NoInfer<Texts> }): Catalogue<Texts> => texts;
