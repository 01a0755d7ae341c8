/** The languages of pages and mails; the first is the default. */
export const LANGUAGES = ["en", "de"] as const;

export type Language = (typeof LANGUAGES)[number];

/** The texts of one page or mail in every language: a translation that is missing does not compile. */
export type Catalogue<Texts> = Readonly<Record<Language, Texts>>;

/** A catalogue whose English texts say which texts there are. */
export const catalogue = <Texts>(texts: { readonly en: Texts; readonly de: NoInfer<Texts> }): Catalogue<Texts> => texts;
